// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// client returns the endpoint of a kind, in a namespace if it has them.
func (c *Cluster) client(res Resource, namespace string) dynamic.ResourceInterface {
	if res.Namespaced && namespace != "" {
		return c.dynamic.Resource(res.GVR).Namespace(namespace)
	}
	return c.dynamic.Resource(res.GVR)
}

// path is where a kind is served, in a namespace, or one object of it.
func path(res Resource, namespace, name string) []string {
	parts := []string{"/apis", res.GVR.Group, res.GVR.Version}
	if res.GVR.Group == "" {
		parts = []string{"/api", res.GVR.Version}
	}
	if res.Namespaced && namespace != "" {
		parts = append(parts, "namespaces", namespace)
	}
	if parts = append(parts, res.GVR.Resource); name != "" {
		parts = append(parts, name)
	}
	return parts
}

// Fetch reads an object from the API server in a version of its group; an empty
// version stands for the preferred one. The error of a missing object satisfies
// apierrors.IsNotFound.
func (c *Cluster) Fetch(ctx context.Context, key manifest.Key, version string) (*unstructured.Unstructured, error) {
	res, err := c.catalog.resolve(ctx, key.GroupKind().WithVersion(version))
	if err != nil {
		return nil, err
	}
	out, _, err := c.try(ctx, call{op: "read", key: key, do: func(ctx context.Context) (*unstructured.Unstructured, error) {
		return c.client(res, key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	}})
	return out, err
}

// Create creates an object. The error satisfies apierrors.IsAlreadyExists if its
// name is taken, except by this very call: when an answer was lost and the object
// carries the operation that obj carries, it is ours. Of the options those count
// that do not say how an existing object is changed.
func (c *Cluster) Create(ctx context.Context, obj *unstructured.Unstructured, o ApplyOptions) (*unstructured.Unstructured, error) {
	res, key, err := c.target(ctx, obj)
	if err != nil {
		return nil, err
	}
	body := c.body(obj, res, o)
	opts := metav1.CreateOptions{FieldManager: o.manager(), FieldValidation: o.validation(), DryRun: dry(o.DryRun)}
	accepted, identified := acceptance{}, false
	if o.DryRun && !o.VerdictOnly {
		accepted, identified = c.acceptanceOf(ctx, res, key, body, true, o)
	}
	out, unsure, err := c.try(ctx, call{op: "create", key: key, once: key.Name == "", do: func(ctx context.Context) (*unstructured.Unstructured, error) {
		return c.client(res, key.Namespace).Create(ctx, body, opts)
	}})
	if unsure && apierrors.IsAlreadyExists(err) {
		if live, readErr := c.Fetch(ctx, key, res.GVK.Version); readErr == nil && sameOperation(obj, live) {
			out, err = live, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if o.DryRun {
		c.remember(accepted, identified)
	} else {
		c.wrote(ctx, out)
	}
	return out, nil
}

func sameOperation(a, b *unstructured.Unstructured) bool {
	operation := a.GetAnnotations()[manifest.AnnotationOperation]
	return operation != "" && operation == b.GetAnnotations()[manifest.AnnotationOperation]
}

// DeleteOptions of a deletion.
type DeleteOptions struct {
	// UID, when given, is the only object that is deleted: one made later under
	// the same name stays.
	UID types.UID
	// Propagation to the object's children. Defaults to the server's choice.
	Propagation metav1.DeletionPropagation
	// GraceZero ends Pods at once.
	GraceZero bool
	// DryRun asks whether the object could be deleted and changes nothing.
	DryRun bool
}

// Delete deletes an object. It returns when the API server has accepted: an
// object with finalizers, or a Pod that ends gracefully, is still there then. An
// object that does not exist is no error.
func (c *Cluster) Delete(ctx context.Context, key manifest.Key, o DeleteOptions) error {
	res, err := c.catalog.resolve(ctx, key.GroupKind().WithVersion(""))
	if err != nil {
		return err
	}
	opts := metav1.DeleteOptions{DryRun: dry(o.DryRun)}
	if o.UID != "" {
		opts.Preconditions = &metav1.Preconditions{UID: &o.UID}
	}
	if o.Propagation != "" {
		opts.PropagationPolicy = &o.Propagation
	}
	if o.GraceZero {
		opts.GracePeriodSeconds = new(int64)
	}
	out, _, err := c.try(ctx, call{op: "delete", key: key, do: func(ctx context.Context) (*unstructured.Unstructured, error) {
		return c.remove(ctx, res, key, opts)
	}})
	switch {
	case o.DryRun && (err == nil || apierrors.IsNotFound(err)):
		return nil
	case err == nil:
		c.deleted(ctx, key, o.UID, out)
		return nil
	case apierrors.IsNotFound(err):
		c.store.removed(key, o.UID)
		return nil
	case apierrors.IsConflict(err) && o.UID != "" && !o.DryRun:
		live, readErr := c.Fetch(ctx, key, res.GVK.Version)
		if apierrors.IsNotFound(readErr) || readErr == nil && live.GetUID() != o.UID {
			c.store.removed(key, o.UID)
			return nil
		}
	}
	return err
}

// remove makes the request itself, because the dynamic client drops the answer,
// which tells whether the object is gone or only going.
func (c *Cluster) remove(ctx context.Context, res Resource, key manifest.Key, opts metav1.DeleteOptions) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(opts)
	if err != nil {
		return nil, err
	}
	result := c.rest.Delete().AbsPath(path(res, key.Namespace, key.Name)...).
		SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").Body(body).Do(ctx)
	// Only this one reads what the API server says about a refusal.
	if err := result.Error(); err != nil {
		return nil, err
	}
	data, err := result.Raw()
	if err != nil {
		return nil, err
	}
	var answer map[string]any
	if err := utiljson.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return &unstructured.Unstructured{Object: answer}, nil
}

// deleted updates the cache with the answer to a deletion: a status, or an object
// that is not marked for deletion, means that it is gone.
func (c *Cluster) deleted(ctx context.Context, key manifest.Key, uid types.UID, answer *unstructured.Unstructured) {
	switch {
	case answer.GetKind() == "Status" && answer.GetAPIVersion() == "v1":
		c.store.removed(key, uid)
	case answer.GetDeletionTimestamp() == nil:
		c.store.removed(key, answer.GetUID())
	default:
		c.wrote(ctx, answer)
	}
}

// Patch merges a JSON merge patch into an object as manifest.ControllerFieldManager:
// for annotations, finalizers and status of our own, never for desired state.
func (c *Cluster) Patch(ctx context.Context, key manifest.Key, mergePatch []byte) (*unstructured.Unstructured, error) {
	res, err := c.catalog.resolve(ctx, key.GroupKind().WithVersion(""))
	if err != nil {
		return nil, err
	}
	return c.patch(ctx, "patch", res, key, types.MergePatchType, mergePatch)
}

func (c *Cluster) patch(ctx context.Context, op string, res Resource, key manifest.Key, t types.PatchType, body []byte) (*unstructured.Unstructured, error) {
	out, _, err := c.try(ctx, call{op: op, key: key, do: func(ctx context.Context) (*unstructured.Unstructured, error) {
		return c.client(res, key.Namespace).Patch(ctx, key.Name, t, body, metav1.PatchOptions{FieldManager: manifest.ControllerFieldManager})
	}})
	if err != nil {
		return nil, err
	}
	c.wrote(ctx, out)
	return out, nil
}

// conflictTries bounds how often a read-change-write is repeated because somebody
// else wrote in between.
const conflictTries = 10

// edit is a change that is made from what an object is now.
type edit struct {
	op   string
	res  Resource
	key  manifest.Key
	kind types.PatchType
	// patch makes the change, on condition that what it read is still so; nil is
	// nothing to do.
	patch func(live *unstructured.Unstructured) ([]byte, error)
	// lost reports whether an error means that the condition did not hold.
	lost func(error) bool
}

// edit makes a change, again if somebody else was faster.
func (c *Cluster) edit(ctx context.Context, e edit) error {
	pause := newPause(c.clock)
	pause.next = 10 * time.Millisecond
	for n := 1; ; n++ {
		live, err := c.Fetch(ctx, e.key, e.res.GVK.Version)
		if err != nil {
			return err
		}
		body, err := e.patch(live)
		if err != nil || body == nil {
			return err
		}
		if _, err = c.patch(ctx, e.op, e.res, e.key, e.kind, body); err == nil || !e.lost(err) || n == conflictTries {
			return err
		}
		if !pause.wait(ctx) {
			return err
		}
	}
}

// RemoveFinalizer takes one finalizer off an object and leaves all others. An
// object that does not exist is no error.
func (c *Cluster) RemoveFinalizer(ctx context.Context, key manifest.Key, finalizer string) error {
	res, err := c.catalog.resolve(ctx, key.GroupKind().WithVersion(""))
	if err != nil {
		return err
	}
	err = c.edit(ctx, edit{
		op: "remove a finalizer of", res: res, key: key, kind: types.JSONPatchType,
		patch: func(live *unstructured.Unstructured) ([]byte, error) {
			i := slices.Index(live.GetFinalizers(), finalizer)
			if i < 0 {
				return nil, nil
			}
			// Only a change of the list itself can come in between.
			path := fmt.Sprintf("/metadata/finalizers/%d", i)
			return json.Marshal([]map[string]any{{"op": "test", "path": path, "value": finalizer}, {"op": "remove", "path": path}})
		},
		lost: func(err error) bool { return apierrors.IsInvalid(err) || apierrors.IsConflict(err) },
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// body is what is sent of a desired object.
func (c *Cluster) body(obj *unstructured.Unstructured, res Resource, o ApplyOptions) *unstructured.Unstructured {
	u := diff.NormalizeWhole(obj)
	if !o.Status {
		delete(u.Object, "status")
	}
	if !res.Namespaced {
		u.SetNamespace("")
	}
	return u
}

// wrote has the cache hold what a write returned. The last write of an object
// that takes its last finalizer off returns it although it is gone.
func (c *Cluster) wrote(ctx context.Context, out *unstructured.Unstructured) {
	if out == nil {
		return
	}
	key := manifest.KeyOf(out)
	if w := c.watchOf(key.GroupKind()); w != nil && w.res.GVK.Version != out.GroupVersionKind().Version {
		// The cache holds one version of a kind; that of the watch says the same.
		same, err := c.Fetch(ctx, key, w.res.GVK.Version)
		if err != nil {
			return
		}
		out = same
	}
	if nameOf, ok := definer(key.GroupKind()); ok {
		// A kind may come or change: who asks for it waits for discovery.
		group, _ := nameOf(key.Name)
		c.catalog.stir(group)
	}
	if out.GetDeletionTimestamp() != nil && len(out.GetFinalizers()) == 0 && ptr.Deref(out.GetDeletionGracePeriodSeconds(), 0) == 0 && key.Kind != "Namespace" {
		c.store.removed(key, out.GetUID())
		return
	}
	if !c.store.holds(key.GroupKind()) || c.store.knows(key, out.GetUID(), parseVersion(out.GetResourceVersion())) {
		return
	}
	if e, err := c.codec.newEntry(out); err == nil {
		c.store.wrote(e)
	}
}

func dry(yes bool) []string {
	if yes {
		return []string{metav1.DryRunAll}
	}
	return nil
}
