// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// serverSet are fields of metadata that the API server writes.
func serverSet() []string {
	return []string{
		"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink",
		"deletionTimestamp", "deletionGracePeriodSeconds",
	}
}

// Normalize returns a copy of a desired object in the form in which it is
// applied and compared: without status and what the API server writes, and with
// a Secret's stringData folded into data, because the server keeps nothing else.
// An aggregated role has no rules: others make them.
func Normalize(desired *unstructured.Unstructured) *unstructured.Unstructured {
	u := NormalizeWhole(desired)
	delete(u.Object, "status")
	return u
}

// NormalizeWhole is Normalize for objects whose status counts.
func NormalizeWhole(desired *unstructured.Unstructured) *unstructured.Unstructured {
	u := strip(desired)
	if aggregated(u) {
		delete(u.Object, "rules")
	}
	return u
}

// strip returns a copy without what the API server writes.
func strip(obj *unstructured.Unstructured) *unstructured.Unstructured {
	u := obj.DeepCopy()
	if meta, ok := u.Object["metadata"].(map[string]any); ok {
		for _, f := range serverSet() {
			delete(meta, f)
		}
	}
	if isSecret(u) {
		foldStringData(u.Object)
	}
	if builtin(u) {
		complete(u.Object)
	}
	return u
}

// builtin tells whether an object is of a kind that comes with Kubernetes.
func builtin(u *unstructured.Unstructured) bool {
	group := u.GroupVersionKind().Group
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// complete takes out what the server does not read as it is written, so that
// writing an object again means what it meant the first time. A null stands for
// nothing, or for the default: in an update it would take away what the server
// filled in. An empty protocol is TCP; as it is a part of the key of a port, the
// server would take the port of the next apply for another one.
func complete(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			if field == nil {
				delete(v, name)
				continue
			}
			if ports, ok := field.([]any); ok && name == "ports" {
				for _, item := range ports {
					if port, ok := item.(map[string]any); ok && port["protocol"] == "" {
						delete(port, "protocol")
					}
				}
			}
			complete(field)
		}
	case []any:
		for _, item := range v {
			complete(item)
		}
	}
}

func (o Options) normalize(u *unstructured.Unstructured) *unstructured.Unstructured {
	if o.Status.Counts(u.GroupVersionKind().GroupKind()) {
		return NormalizeWhole(u)
	}
	return Normalize(u)
}

// aggregated reports whether an object is a role whose rules are collected from
// other roles.
func aggregated(u *unstructured.Unstructured) bool {
	_, rule := u.Object["aggregationRule"].(map[string]any)
	return rule && u.GroupVersionKind().GroupKind() == schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}
}

func isSecret(u *unstructured.Unstructured) bool {
	return u != nil && u.GetKind() == "Secret" && u.GetAPIVersion() == "v1"
}

func foldStringData(secret map[string]any) {
	text, ok := secret["stringData"].(map[string]any)
	if !ok {
		return
	}
	delete(secret, "stringData")
	if len(text) == 0 {
		return
	}
	data, ok := secret["data"].(map[string]any)
	if !ok {
		data = map[string]any{}
		secret["data"] = data
	}
	for k, v := range text {
		if s, ok := v.(string); ok {
			data[k] = base64.StdEncoding.EncodeToString([]byte(s))
		} else {
			data[k] = v
		}
	}
}

// bare returns a copy of a live or predicted object without what never
// counts as a difference.
func (o Options) bare(u *unstructured.Unstructured) *unstructured.Unstructured {
	c := strip(u)
	if !o.Status.Counts(u.GroupVersionKind().GroupKind()) {
		delete(c.Object, "status")
	}
	unstructured.RemoveNestedField(c.Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
	return c
}

// Material identifies everything about a live object that matters under the rules,
// status included: two states of an object with equal digests differ in nothing but
// what rules ignore and what the API server counts.
func Material(live *unstructured.Unstructured, opts Options) (string, error) {
	u := live.DeepCopy()
	if meta, ok := u.Object["metadata"].(map[string]any); ok {
		for _, f := range []string{"resourceVersion", "generation", "managedFields"} {
			delete(meta, f)
		}
	}
	rulesFor(live, opts).removeFrom(u)
	data, err := json.Marshal(u.Object)
	if err != nil {
		return "", fmt.Errorf("write %s as JSON: %w", manifest.KeyOf(live), err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
