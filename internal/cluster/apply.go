// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// ApplyOptions of an apply. The zero value applies for real, server-side, with
// strict validation, as manifest.FieldManager.
type ApplyOptions struct {
	// Method of writing.
	Method Method
	// DryRun asks what would come out and changes nothing.
	DryRun bool
	// VerdictOnly asks of a dry run no more than whether it succeeds: what comes out
	// is not returned.
	VerdictOnly bool
	// Force deletes an object and creates it anew if the API server refuses to
	// change one of its fields. Namespaces and CustomResourceDefinitions are never
	// deleted.
	Force bool
	// NoValidation lets the API server drop unknown fields silently.
	NoValidation bool
	// KeepOwners leaves what other tools own to them, so that a server-side apply
	// does not remove fields that they wrote.
	KeepOwners bool
	// Status applies the status that the object has, as far as the API server lets
	// it be written with the rest.
	Status bool
	// Manager applies. Defaults to manifest.FieldManager.
	Manager string
	// Notice, if given, is told in one line of anything that was done in another
	// way than asked, and of fields that were taken from others.
	Notice func(string)
}

// headOnly asks for no more of an object than its metadata, from servers that can
// leave the rest out.
const headOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

func (o ApplyOptions) manager() string {
	if o.Manager != "" {
		return o.Manager
	}
	return manifest.FieldManager
}

func (o ApplyOptions) validation() string {
	if o.NoValidation {
		return metav1.FieldValidationIgnore
	}
	return metav1.FieldValidationStrict
}

func (o ApplyOptions) notice(format string, args ...any) {
	if o.Notice != nil {
		o.Notice(fmt.Sprintf(format, args...))
	}
}

// Apply writes the desired state of an object, by server-side apply unless
// another method is asked for. Fields that another manager owns with another
// value are taken; what tools that Wavetrain replaces own is taken over before,
// so that dropped fields disappear. An object that server-side apply cannot
// express (two list items with one key, or unknown fields with NoValidation) is
// updated instead, and items that others have put in the place of wanted ones go.
// The cache holds the result when Apply returns.
//
// For a kind that is not served Apply waits a few seconds if something that
// defines kinds of its group was written just before; the error is then an
// *UnknownKindError.
func (c *Cluster) Apply(ctx context.Context, obj *unstructured.Unstructured, o ApplyOptions) (*unstructured.Unstructured, error) {
	res, key, err := c.target(ctx, obj)
	if err != nil {
		return nil, err
	}
	if key.Name == "" {
		return nil, &Error{Op: "apply", Key: key, Server: c.server, Reason: Rejected, Err: errors.New("the object has no name; one with generateName can only be created")}
	}
	want := c.body(obj, res, o)
	if o.Method == ServerSide && !o.DryRun && !o.KeepOwners {
		if err := c.takeOver(ctx, res, key, o.manager()); err != nil {
			return nil, err
		}
	}
	accepted, identified := acceptance{}, false
	if o.DryRun && !o.VerdictOnly {
		accepted, identified = c.acceptanceOf(ctx, res, key, want, false, o)
	}
	before := c.ownersOf(key, o)
	out, err := c.write(ctx, res, key, want, o)
	if err != nil && o.Force && !o.DryRun && IsImmutable(err) && Recreatable(key) {
		o.notice("it has an immutable field that differs: it was deleted and created again")
		out, err = c.recreate(ctx, res, key, want, o)
	}
	if err != nil {
		return nil, err
	}
	if o.DryRun {
		c.remember(accepted, identified)
		return out, nil
	}
	if taken := diff.Taken(before, out.GetManagedFields(), o.manager()); taken != "" {
		o.notice("took %s", taken)
	}
	c.wrote(ctx, out)
	c.applied(ctx, res, key, want, o, out.GetUID())
	return out, nil
}

// ownersOf returns who owns a cached object's fields, for those who want notices
// of it.
func (c *Cluster) ownersOf(key manifest.Key, o ApplyOptions) []metav1.ManagedFieldsEntry {
	if e, ok := c.store.get(key); ok && o.Notice != nil && !o.DryRun {
		return e.managedFields()
	}
	return nil
}

// write writes by the method that is asked for, or by the one that can express
// the object.
func (c *Cluster) write(ctx context.Context, res Resource, key manifest.Key, want *unstructured.Unstructured, o ApplyOptions) (*unstructured.Unstructured, error) {
	switch o.Method {
	case ClientSide:
		return c.applyClientSide(ctx, res, key, want, o)
	case Replace, Overlay:
		return c.update(ctx, res, key, want, o)
	}
	out, err := c.apply(ctx, res, key, want, o)
	switch {
	case unkeyed(err):
		o.notice("it has list items with the same key or without one, which server-side apply refuses: it was updated instead, and lists are replaced as a whole")
		return c.update(ctx, res, key, want, o)
	case undeclared(err) && o.NoValidation:
		o.notice("it has fields that its schema does not know, which server-side apply refuses: it was updated instead, and they were dropped")
		return c.update(ctx, res, key, want, o)
	case emptied(err):
		return c.empty(ctx, res, key, want, o)
	case len(collisions(err)) > 0:
		return c.displace(ctx, res, key, want, o, err)
	}
	return out, err
}

// empty writes an object whose apply would make null of what is to be empty: an
// update takes out what was in it, and the apply after it has nothing to remove. In
// between the update's fields become the apply's, so that they can be dropped later.
func (c *Cluster) empty(ctx context.Context, res Resource, key manifest.Key, want *unstructured.Unstructured, o ApplyOptions) (*unstructured.Unstructured, error) {
	out, err := c.update(ctx, res, key, want, o)
	if err != nil || o.DryRun {
		return out, err
	}
	err = c.takeFrom(ctx, res, key, o.manager(), func(*unstructured.Unstructured) func(metav1.ManagedFieldsEntry) bool {
		return func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == o.manager() && e.Operation == metav1.ManagedFieldsOperationUpdate && e.Subresource == ""
		}
	})
	if err != nil {
		return nil, err
	}
	return c.apply(ctx, res, key, want, o)
}

func (c *Cluster) apply(ctx context.Context, res Resource, key manifest.Key, want *unstructured.Unstructured, o ApplyOptions) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(want.Object)
	if err != nil {
		return nil, &Error{Op: "apply", Key: key, Server: c.server, Reason: Rejected, Err: err}
	}
	opts := metav1.PatchOptions{FieldManager: o.manager(), Force: new(true), FieldValidation: o.validation(), DryRun: dry(o.DryRun)}
	out, _, err := c.try(ctx, call{op: "apply", key: key, contested: true, do: func(ctx context.Context) (*unstructured.Unstructured, error) {
		if o.VerdictOnly {
			return nil, c.rest.Patch(types.ApplyPatchType).AbsPath(path(res, key.Namespace, key.Name)...).
				SpecificallyVersionedParams(&opts, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"}).
				SetHeader("Accept", headOnly).Body(body).Do(ctx).Error()
		}
		return c.client(res, key.Namespace).Patch(ctx, key.Name, types.ApplyPatchType, body, opts)
	}})
	return out, err
}

// recreate deletes an object, waits until it is gone and writes it anew.
func (c *Cluster) recreate(ctx context.Context, res Resource, key manifest.Key, want *unstructured.Unstructured, o ApplyOptions) (*unstructured.Unstructured, error) {
	live, err := c.Fetch(ctx, key, res.GVK.Version)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	if live != nil {
		if err := c.Delete(ctx, key, DeleteOptions{UID: live.GetUID(), Propagation: metav1.DeletePropagationBackground}); err != nil {
			return nil, err
		}
		if err := c.awaitGone(ctx, res, key, live.GetUID()); err != nil {
			return nil, err
		}
	}
	return c.write(ctx, res, key, want, o)
}

// awaitGone waits for an object to disappear; the caller's context bounds it.
func (c *Cluster) awaitGone(ctx context.Context, res Resource, key manifest.Key, uid types.UID) error {
	pause := newPause(c.clock)
	for {
		live, err := c.Fetch(ctx, key, res.GVK.Version)
		switch {
		case apierrors.IsNotFound(err), err == nil && live.GetUID() != uid:
			return nil
		case err != nil:
			return err
		}
		if !pause.wait(ctx) {
			return &Error{
				Op: "replace", Key: key, Server: c.server, Reason: Cancelled, Err: context.Cause(ctx),
				Hint: fmt.Sprintf("the old object is still being deleted; finalizers: %v", live.GetFinalizers()),
			}
		}
	}
}
