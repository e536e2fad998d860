// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

const (
	// person is the field manager of kubectl apply, by is that of other things a
	// person does.
	person      = "kubectl-client-side-apply"
	by          = "kubectl-edit"
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
	// patience is how long something that is expected is waited for.
	patience = 2 * time.Minute
)

// read returns the objects of a file of the case.
func (w *world) read(file string) ([]manifest.Object, error) {
	data, err := os.ReadFile(filepath.Join(w.dir, file))
	if err != nil {
		return nil, err
	}
	return manifest.Decode(file, data)
}

// applyFile applies the objects of a file as kubectl apply does; namespace is that of
// Applications and projects which name none.
func (w *world) applyFile(ctx context.Context, file, namespace string) error {
	objects, err := w.read(file)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if namespace != "" && o.GetNamespace() == "" && o.GroupVersionKind().Group == v1alpha1.GroupVersion().Group {
			o.SetNamespace(namespace)
		}
		if err := w.apply(ctx, o.Unstructured); err != nil {
			return fmt.Errorf("%s: %s: %w", file, o.Key().Short(), err)
		}
	}
	return nil
}

// apply creates an object or brings it to what is given, client-side. A kind or a
// namespace that is not there yet is tried again.
func (w *world) apply(ctx context.Context, obj *unstructured.Unstructured) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = w.applyOnce(ctx, obj)
		return last == nil || !meta.IsNoMatchError(last) && !apierrors.IsNotFound(last) && !apierrors.IsConflict(last), nil
	})
	return errors.Join(last, ignoreTimeout(err, last))
}

// ignoreTimeout drops the error of a poll where what it polled for says more.
func ignoreTimeout(poll, last error) error {
	if last == nil {
		return poll
	}
	return nil
}

func (w *world) applyOnce(ctx context.Context, obj *unstructured.Unstructured) error {
	obj = obj.DeepCopy()
	r, err := w.resource(obj.GroupVersionKind(), obj.GetNamespace())
	if err != nil {
		return err
	}
	if err := w.fillUIDs(ctx, obj); err != nil {
		return err
	}
	unstructured.RemoveNestedField(obj.Object, "metadata", "annotations", lastApplied)
	original, err := json.Marshal(obj.Object)
	if err != nil {
		return err
	}
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[lastApplied] = string(original) + "\n"
	obj.SetAnnotations(annotations)
	live, err := r.Get(ctx, obj.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = r.Create(ctx, obj, metav1.CreateOptions{FieldManager: person})
		return err
	}
	if err != nil {
		return err
	}
	modified, errModified := json.Marshal(obj.Object)
	current, errCurrent := json.Marshal(live.Object)
	if err := errors.Join(errModified, errCurrent); err != nil {
		return err
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(live.GetAnnotations()[lastApplied]), modified, current)
	if err != nil {
		return err
	}
	_, err = r.Patch(ctx, obj.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: person})
	return err
}

// resource is where objects of a kind are written.
func (w *world) resource(gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := w.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		w.mapper.Reset()
		if mapping, err = w.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
			return nil, err
		}
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return w.dynamic.Resource(mapping.Resource), nil
	}
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return w.dynamic.Resource(mapping.Resource).Namespace(namespace), nil
}

func (w *world) namespaced(gvk schema.GroupVersionKind) bool {
	mapping, err := w.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	return err == nil && mapping.Scope.Name() == meta.RESTScopeNameNamespace
}

// uid stands for the UID of an object of the same namespace.
var uid = regexp.MustCompile(`\$\{UID:([^}/]+)/([^}]+)\}`)

// fillIn puts UIDs in the place of what stands for them.
func (w *world) fillUIDs(ctx context.Context, obj *unstructured.Unstructured) error {
	data, err := obj.MarshalJSON()
	if err != nil {
		return err
	}
	for _, m := range uid.FindAllStringSubmatch(string(data), -1) {
		target, err := w.find(ctx, m[1], obj.GetNamespace(), m[2])
		if err != nil {
			return err
		}
		data = []byte(strings.ReplaceAll(string(data), m[0], string(target.GetUID())))
	}
	return obj.UnmarshalJSON(data)
}

// kindOf finds the kind that a word stands for, "Kind" or "Kind.group".
func (w *world) kindOf(word string) (schema.GroupVersionKind, error) {
	kind, group, _ := strings.Cut(word, ".")
	// The kinds of the core and of the usual groups come before those of others.
	for _, candidate := range []string{group, "apps", "batch", "networking.k8s.io", "rbac.authorization.k8s.io", "autoscaling", "policy", "argoproj.io", "apiextensions.k8s.io"} {
		if mapping, err := w.mapper.RESTMapping(schema.GroupKind{Group: candidate, Kind: kind}); err == nil {
			return mapping.GroupVersionKind, nil
		}
		if group != "" {
			break
		}
	}
	w.mapper.Reset()
	gvks, err := w.mapper.KindsFor(schema.GroupVersionResource{Group: group, Resource: strings.ToLower(kind)})
	if err == nil && len(gvks) > 0 {
		return gvks[0], nil
	}
	return schema.GroupVersionKind{}, fmt.Errorf("the cluster does not serve kind %s", word)
}

// find reads an object.
func (w *world) find(ctx context.Context, kind, namespace, name string) (*unstructured.Unstructured, error) {
	gvk, err := w.kindOf(kind)
	if err != nil {
		return nil, err
	}
	r, err := w.resource(gvk, namespace)
	if err != nil {
		return nil, err
	}
	return r.Get(ctx, name, metav1.GetOptions{})
}

// object is a reference of a step: Kind/namespace/name or Kind/name.
type object struct{ kind, namespace, name string }

func parseObject(text string) (object, error) {
	parts := strings.Split(text, "/")
	switch {
	case len(parts) == 2 && parts[0] != "" && parts[1] != "":
		return object{parts[0], "", parts[1]}, nil
	case len(parts) == 3 && parts[0] != "" && parts[2] != "":
		return object{parts[0], parts[1], parts[2]}, nil
	}
	return object{}, fmt.Errorf("%q is no object: write Kind/namespace/name or Kind/name", text)
}

// patchObject merges a change into an object in the name of a manager.
func (w *world) patchObject(ctx context.Context, o object, manager string, change map[string]any) error {
	gvk, err := w.kindOf(o.kind)
	if err != nil {
		return err
	}
	r, err := w.resource(gvk, o.namespace)
	if err != nil {
		return err
	}
	data, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = r.Patch(ctx, o.name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: manager})
	return err
}
