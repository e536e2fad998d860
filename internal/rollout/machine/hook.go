// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// maxHookName keeps a generated name fit to be a label value, which a Job's
// name becomes.
const maxHookName = 63

func mark(operation string, attempt int) string {
	return operation + "/" + strconv.Itoa(attempt)
}

// HookName returns the name of the object of a step in an operation. A hook
// with generateName gets a name that is the same in every attempt and after a
// crash, and differs between operations and phases.
func HookName(operation string, s *plan.Step) string {
	if s.Key.Name != "" || s.Object == nil {
		return s.Key.Name
	}
	sum := sha256.Sum256([]byte(operation + "\n" + s.ID))
	suffix := hex.EncodeToString(sum[:4]) + "-" + strings.ToLower(string(s.HookType))
	prefix := s.Object.GetGenerateName()
	if over := len(prefix) + len(suffix) - maxHookName; over > 0 {
		prefix = prefix[:max(0, len(prefix)-over)]
	}
	return prefix + suffix
}

// hookObject returns the object to create for a hook: named, marked with the
// attempt, and held by our finalizer until its result is recorded.
func (m *Machine) hookObject(t *task) *unstructured.Unstructured {
	obj := t.step.Object.DeepCopy()
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	if obj.GetName() == "" {
		obj.SetName(t.key.Name)
		obj.SetGenerateName("")
		if _, tracked := annotations[manifest.AnnotationTrackingID]; tracked {
			annotations[manifest.AnnotationTrackingID] = manifest.FormatTrackingID(m.plan.App, m.plan.Namespace, t.key)
		}
	}
	annotations[manifest.AnnotationOperation] = m.rec.Mark()
	obj.SetAnnotations(annotations)
	if finalizers := obj.GetFinalizers(); !slices.Contains(finalizers, manifest.HookFinalizer) {
		obj.SetFinalizers(append(slices.Clone(finalizers), manifest.HookFinalizer))
	}
	return obj
}
