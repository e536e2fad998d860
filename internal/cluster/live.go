// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/inventory"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Get returns a watched object as it is now, in its group's preferred version and
// without managedFields; it is never older than our own last write of it. The
// object is shared: it must not be changed. In another version it can be fetched.
func (c *Cluster) Get(key manifest.Key) (*unstructured.Unstructured, bool) {
	e, ok := c.store.get(key)
	if !ok {
		return nil, false
	}
	return e.Unstructured, true
}

// GetOwned is Get together with the object's managedFields, whose entries carry
// no times.
func (c *Cluster) GetOwned(key manifest.Key) (*unstructured.Unstructured, []metav1.ManagedFieldsEntry, bool) {
	e, ok := c.store.get(key)
	if !ok {
		return nil, nil, false
	}
	return e.Unstructured, e.managedFields(), true
}

// List returns the objects of a watched kind, ordered by namespace and name. They
// are shared and must not be changed.
func (c *Cluster) List(gk schema.GroupKind) []*unstructured.Unstructured {
	return objects(c.store.pick(func() map[manifest.Key]struct{} { return c.store.keysOf(gk) }))
}

// Tracked returns the watched objects whose tracking id names the application and
// the object itself, and which no other object owns, ordered by key. They are
// shared and must not be changed.
func (c *Cluster) Tracked(app string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, e := range c.store.pick(func() map[manifest.Key]struct{} { return c.store.apps[app] }) {
		if len(e.owners) == 0 && inventory.SelfTracked(app, e.tracking, e.key) {
			out = append(out, e.Unstructured)
		}
	}
	return out
}

// Children returns the watched objects that name uid as an owner, ordered by key.
// They are shared and must not be changed.
func (c *Cluster) Children(uid types.UID) []*unstructured.Unstructured {
	return objects(c.store.pick(func() map[manifest.Key]struct{} { return c.store.children[uid] }))
}

// Subscribe has fn called for every change of a watched object, in the order of
// the changes, until cancel is called. The cache holds the new state when fn runs;
// fn may read it, but must neither block, nor write to the cluster, nor call
// cancel.
func (c *Cluster) Subscribe(fn func(Change)) (cancel func()) { return c.store.subscribe(fn) }

func objects(entries []*entry) []*unstructured.Unstructured {
	out := make([]*unstructured.Unstructured, len(entries))
	for i, e := range entries {
		out[i] = e.Unstructured
	}
	return out
}
