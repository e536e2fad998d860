// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// applyClientSide does what `kubectl apply` does: what was written last is kept
// in an annotation, and the difference between that, what is wanted and what is
// there is sent as a patch.
func (c *Cluster) applyClientSide(ctx context.Context, res Resource, key manifest.Key, want *unstructured.Unstructured, o ApplyOptions) (*unstructured.Unstructured, error) {
	want, err := withLastApplied(want)
	if err != nil {
		return nil, &Error{Op: "apply", Key: key, Server: c.server, Reason: Rejected, Err: err}
	}
	// A list that a patch replaces as a whole has values in it, not changes.
	withoutNulls(want.Object, false)
	return c.readAndWrite(ctx, res, key, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live == nil {
			// To a patch null means absent; what is created must agree with the next patch.
			withoutNulls(want.Object, true)
			return c.create(ctx, res, key, want, o)
		}
		kind, body, err := threeWayPatch(want, live)
		if err != nil {
			return nil, &Error{Op: "apply", Key: key, Server: c.server, Reason: Rejected, Err: err}
		}
		if string(body) == "{}" {
			return live, nil
		}
		opts := metav1.PatchOptions{FieldManager: o.manager(), FieldValidation: o.validation(), DryRun: dry(o.DryRun)}
		out, _, err := c.try(ctx, call{op: "apply", key: key, do: func(ctx context.Context) (*unstructured.Unstructured, error) {
			return c.client(res, key.Namespace).Patch(ctx, key.Name, kind, body, opts)
		}})
		return out, err
	})
}

// withoutNulls takes the fields out that are null, those outside of lists only if
// asked to. Items of lists stay.
func withoutNulls(v any, outside bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			if field == nil && outside {
				delete(v, name)
			}
			withoutNulls(field, outside)
		}
	case []any:
		for _, item := range v {
			withoutNulls(item, true)
		}
	}
}

// withLastApplied returns a copy of the object that carries itself in the
// annotation from which the next client-side apply knows what was dropped.
func withLastApplied(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	out := obj.DeepCopy()
	unstructured.RemoveNestedField(out.Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
	data, err := runtime.Encode(unstructured.UnstructuredJSONScheme, out)
	if err != nil {
		return nil, fmt.Errorf("encode the last applied configuration: %w", err)
	}
	annotations := out.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(data)
	out.SetAnnotations(annotations)
	return out, nil
}

// threeWayPatch returns the patch from live to want, and of which type it is:
// built-in kinds know how their lists are merged, those of all others are
// replaced.
func threeWayPatch(want, live *unstructured.Unstructured) (types.PatchType, []byte, error) {
	current := live.DeepCopy()
	current.SetManagedFields(nil)
	modified, err := json.Marshal(want.Object)
	if err != nil {
		return "", nil, err
	}
	data, err := json.Marshal(current.Object)
	if err != nil {
		return "", nil, err
	}
	var original []byte
	if text := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; text != "" {
		original = []byte(text)
	}
	unchanged := []mergepatch.PreconditionFunc{
		mergepatch.RequireKeyUnchanged("apiVersion"), mergepatch.RequireKeyUnchanged("kind"), mergepatch.RequireMetadataKeyUnchanged("name"),
	}
	typed, err := scheme.Scheme.New(want.GroupVersionKind())
	if runtime.IsNotRegisteredError(err) {
		body, err := jsonmergepatch.CreateThreeWayJSONMergePatch(original, modified, data, unchanged...)
		return types.MergePatchType, body, explain(err)
	}
	if err != nil {
		return "", nil, err
	}
	schema, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return "", nil, err
	}
	body, err := strategicpatch.CreateThreeWayMergePatch(original, modified, data, schema, true, unchanged...)
	if err != nil && !mergepatch.IsPreconditionFailed(err) {
		// A part of the object that has no schema, or a list with an item that is
		// null: its lists are replaced, as those of a kind nobody knows.
		body, err := jsonmergepatch.CreateThreeWayJSONMergePatch(original, modified, data, unchanged...)
		return types.MergePatchType, body, explain(err)
	}
	return types.StrategicMergePatchType, body, explain(err)
}

// explain says where an unreadable patch may come from.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case mergepatch.IsPreconditionFailed(err):
		return errors.New("apiVersion, kind or name would change")
	default:
		return fmt.Errorf("compare with the annotation %s: %w", corev1.LastAppliedConfigAnnotation, err)
	}
}
