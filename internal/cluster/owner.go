// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// takeOver makes manager the owner of what tools own that it replaces. Of a
// watched object the cache knows whether there is anything to do.
func (c *Cluster) takeOver(ctx context.Context, res Resource, key manifest.Key, manager string) error {
	if c.synced(res, key.Namespace) {
		e, ok := c.store.get(key)
		if !ok || !slices.ContainsFunc(e.managedFields(), diff.SupersededOn(e.object(), manager)) {
			return nil
		}
	}
	return c.takeFrom(ctx, res, key, manager, func(live *unstructured.Unstructured) func(metav1.ManagedFieldsEntry) bool {
		return diff.SupersededOn(live, manager)
	})
}

// takeFrom makes manager the owner of what superseded entries of an object own.
func (c *Cluster) takeFrom(ctx context.Context, res Resource, key manifest.Key, manager string, superseded func(live *unstructured.Unstructured) func(metav1.ManagedFieldsEntry) bool) error {
	err := c.edit(ctx, edit{
		op: "take over the fields of", res: res, key: key, kind: types.JSONPatchType,
		patch: func(live *unstructured.Unstructured) ([]byte, error) {
			fields, changed, err := takenOver(live.GetManagedFields(), manager, superseded(live))
			if err != nil || !changed {
				return nil, err
			}
			return withOwners(live, fields)
		},
		lost: apierrors.IsConflict,
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// synced reports whether the cache knows every object of a kind in a namespace.
func (c *Cluster) synced(res Resource, namespace string) bool {
	w := c.watchOf(res.GVK.GroupKind())
	if w == nil {
		return false
	}
	p := w.in(namespace)
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.synced
}

// takenOver unites the entries of superseded tools with manager's own. The
// last-applied annotation stays behind, owned by nobody, and so does the map that
// holds it: they would otherwise be removed by the next apply.
func takenOver(entries []metav1.ManagedFieldsEntry, manager string, superseded func(metav1.ManagedFieldsEntry) bool) (out []metav1.ManagedFieldsEntry, changed bool, err error) {
	if !slices.ContainsFunc(entries, superseded) {
		return entries, false, nil
	}
	var own *metav1.ManagedFieldsEntry
	union := &fieldpath.Set{}
	for i := range entries {
		e := entries[i]
		mine := e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
		if !mine && !superseded(e) {
			out = append(out, e)
			continue
		}
		if e.FieldsV1 != nil {
			var set fieldpath.Set
			if err := set.FromJSON(bytes.NewReader(e.FieldsV1.GetRawBytes())); err != nil {
				return nil, false, fmt.Errorf("read managed fields of %s: %w", e.Manager, err)
			}
			union = union.Union(&set)
		}
		if own == nil || mine {
			own = e.DeepCopy()
		}
	}
	union = union.Difference(fieldpath.NewSet(
		fieldpath.MakePathOrDie("metadata", "annotations"),
		fieldpath.MakePathOrDie("metadata", "annotations", corev1.LastAppliedConfigAnnotation),
	))
	fields, err := union.ToJSON()
	if err != nil {
		return nil, false, fmt.Errorf("write managed fields of %s: %w", manager, err)
	}
	own.Manager, own.Operation = manager, metav1.ManagedFieldsOperationApply
	own.FieldsV1 = metav1.NewFieldsV1(string(fields))
	return append([]metav1.ManagedFieldsEntry{*own}, out...), true, nil
}
