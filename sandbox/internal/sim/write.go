// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/wavetrain/wavetrain/sandbox/internal/sim/rules"
)

// resourceFor completes an object that a rule gives (kind and namespace may be left to us) and returns
// where it is written.
func (e *engine) resourceFor(matched, object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	served, err := e.kinds.of(object)
	if err != nil {
		return nil, fmt.Errorf("write %s/%s: %w", object.GetKind(), object.GetName(), err)
	}
	object.SetGroupVersionKind(served.gvk)
	if !served.namespaced {
		return e.dynamic.Resource(served.gvr), nil
	}
	object.SetNamespace(cmp.Or(object.GetNamespace(), matched.GetNamespace(), corev1.NamespaceDefault))
	return e.dynamic.Resource(served.gvr).Namespace(object.GetNamespace()), nil
}

// create makes an object unless it exists.
func (e *engine) create(ctx context.Context, matched, object *unstructured.Unstructured) error {
	api, err := e.resourceFor(matched, object)
	if err != nil {
		return err
	}
	_, err = api.Create(ctx, object, metav1.CreateOptions{})
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return fmt.Errorf("create %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
}

// update makes an object or brings it to what is given: each field that is there is replaced, labels and
// annotations are added.
func (e *engine) update(ctx context.Context, matched, object *unstructured.Unstructured) error {
	api, err := e.resourceFor(matched, object)
	if err != nil {
		return err
	}
	live, err := api.Get(ctx, object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return e.create(ctx, matched, object)
	}
	if err != nil {
		return fmt.Errorf("update %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
	next := live.DeepCopy()
	for key, value := range object.Object {
		switch key {
		case "apiVersion", "kind", "metadata":
		case "stringData":
			next.Object["data"] = encoded(value)
		default:
			next.Object[key] = value
		}
	}
	next.SetLabels(merged(next.GetLabels(), object.GetLabels()))
	next.SetAnnotations(merged(next.GetAnnotations(), object.GetAnnotations()))
	if refs := object.GetOwnerReferences(); refs != nil {
		next.SetOwnerReferences(refs)
	}
	if equality.Semantic.DeepEqual(live.Object, next.Object) {
		return nil
	}
	if _, err := api.Update(ctx, next, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
	return nil
}

func merged(into, from map[string]string) map[string]string {
	if into == nil {
		return from
	}
	maps.Copy(into, from)
	return into
}

// encoded turns a Secret's stringData into data.
func encoded(stringData any) map[string]any {
	out := map[string]any{}
	m, _ := stringData.(map[string]any)
	for key, value := range m {
		out[key] = base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(value)))
	}
	return out
}

func (e *engine) at(it item) dynamic.ResourceInterface {
	if it.namespace == "" {
		return e.dynamic.Resource(it.gvr)
	}
	return e.dynamic.Resource(it.gvr).Namespace(it.namespace)
}

// patchStatus merges into the status of an object, whether or not its kind has a status subresource.
func (e *engine) patchStatus(ctx context.Context, it item, o *unstructured.Unstructured, status map[string]any) error {
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return fmt.Errorf("write the status of %s/%s: %w", o.GetKind(), o.GetName(), err)
	}
	_, err = e.at(it).Patch(ctx, it.name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		_, err = e.at(it).Patch(ctx, it.name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err = ignoreNotFound(err); err != nil {
		return fmt.Errorf("set the status of %s %s/%s: %w", o.GetKind(), it.namespace, it.name, err)
	}
	return nil
}

func (e *engine) setFinalizers(ctx context.Context, it item, o *unstructured.Unstructured, finalizers []string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": o.GetResourceVersion(), "finalizers": finalizers,
	}})
	if err != nil {
		return fmt.Errorf("write a patch of finalizers: %w", err)
	}
	_, err = e.at(it).Patch(ctx, it.name, types.MergePatchType, patch, metav1.PatchOptions{})
	return ignoreNotFound(err)
}

// patchField changes one field of the matched object in somebody's name.
func (e *engine) patchField(ctx context.Context, it item, o *unstructured.Unstructured, p rules.PatchAt) error {
	live, err := e.at(it).Get(ctx, it.name, metav1.GetOptions{})
	if err != nil {
		return ignoreNotFound(err)
	}
	changed, err := setPath(live.Object, pathParts(p.Path), rules.Expand(p.Value, o.Object))
	if err != nil {
		return fmt.Errorf("patch %s of %s %s/%s: %w", p.Path, o.GetKind(), it.namespace, it.name, err)
	}
	live.Object, _ = changed.(map[string]any)
	_, err = e.at(it).Update(ctx, live, metav1.UpdateOptions{FieldManager: p.Manager})
	return ignoreNotFound(err)
}

// pathParts splits a JSON pointer, or a path with dots.
func pathParts(path string) []string {
	if !strings.HasPrefix(path, "/") {
		return strings.Split(path, ".")
	}
	parts := strings.Split(path[1:], "/")
	for i := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[i])
	}
	return parts
}

// setPath returns in with the value at path replaced, or removed if it is nil; "-" appends to a list.
func setPath(in any, path []string, value any) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	if list, ok := in.([]any); ok {
		i, err := strconv.Atoi(path[0])
		switch {
		case path[0] == "-":
			i, list = len(list), append(list, nil)
		case err != nil || i < 0 || i >= len(list):
			return nil, fmt.Errorf("%q is no index of a list of %d", path[0], len(list))
		}
		if value == nil && len(path) == 1 {
			return append(list[:i:i], list[i+1:]...), nil
		}
		list[i], err = setPath(list[i], path[1:], value)
		return list, err
	}
	m, ok := in.(map[string]any)
	if in == nil {
		m, ok = map[string]any{}, true
	}
	if !ok {
		return nil, fmt.Errorf("%q is below a value that has no fields", path[0])
	}
	if value == nil && len(path) == 1 {
		delete(m, path[0])
		return m, nil
	}
	next, err := setPath(m[path[0]], path[1:], value)
	if err != nil {
		return nil, err
	}
	m[path[0]] = next
	return m, nil
}
