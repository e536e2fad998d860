// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Get returns a watched object as it is now, in its group's preferred version and
// without managedFields; it is never older than our own last write of it. The
// object is decoded for the caller, who may keep it but should not for long. In
// another version it can be fetched.
func (c *Cluster) Get(key manifest.Key) (*unstructured.Unstructured, bool) {
	e, ok := c.store.get(key)
	if !ok {
		return nil, false
	}
	return e.object(), true
}

// GetOwned is Get together with the object's managedFields, whose entries carry
// no times.
func (c *Cluster) GetOwned(key manifest.Key) (*unstructured.Unstructured, []metav1.ManagedFieldsEntry, bool) {
	e, ok := c.store.get(key)
	if !ok {
		return nil, nil, false
	}
	return e.object(), e.managedFields(), true
}

// Head is what can be said of a watched object without decoding it.
type Head struct {
	Key manifest.Key
	UID types.UID
	// Version is the resourceVersion.
	Version    string
	TrackingID string
	// Owned is true when another object owns it.
	Owned bool
}

// Head returns the head of a watched object.
func (c *Cluster) Head(key manifest.Key) (Head, bool) {
	e, ok := c.store.get(key)
	if !ok {
		return Head{}, false
	}
	return e.head(), true
}

// TrackedHeads is Tracked without decoding the objects.
func (c *Cluster) TrackedHeads(app string) []Head {
	entries := c.store.ofApp(app)
	heads := make([]Head, 0, len(entries))
	for _, e := range entries {
		if len(e.owners()) == 0 && e.selfTracked() {
			heads = append(heads, e.head())
		}
	}
	return heads
}

// List returns the objects of a watched kind, ordered by namespace and name.
func (c *Cluster) List(gk schema.GroupKind) []*unstructured.Unstructured {
	return objects(c.store.ofKind(gk))
}

// Each is List one by one, so that a large kind is never decoded as a whole; it
// ends when fn returns false.
func (c *Cluster) Each(gk schema.GroupKind, fn func(*unstructured.Unstructured) bool) {
	for _, e := range c.store.ofKind(gk) {
		if !fn(e.object()) {
			return
		}
	}
}

// Tracked returns the watched objects whose tracking id names the application and
// the object itself, and which neither another object owns nor another installation
// has marked, ordered by key.
func (c *Cluster) Tracked(app string) []*unstructured.Unstructured {
	return c.TrackedBut(app, func(manifest.Key) bool { return false })
}

// TrackedBut is Tracked without the objects that the caller knows, which are not
// decoded.
func (c *Cluster) TrackedBut(app string, known func(manifest.Key) bool) []*unstructured.Unstructured {
	entries := slices.DeleteFunc(c.store.ofApp(app), func(e *entry) bool { return len(e.owners()) > 0 || !e.selfTracked() || known(e.key()) })
	return slices.DeleteFunc(objects(entries), c.othersObject)
}

// AnyTracked reports whether Tracked would return anything.
func (c *Cluster) AnyTracked(app string) bool {
	return slices.ContainsFunc(c.store.ofApp(app), func(e *entry) bool {
		return len(e.owners()) == 0 && e.selfTracked() && !c.othersObject(e.object())
	})
}

// Children returns the watched objects that name uid as an owner, ordered by key.
func (c *Cluster) Children(uid types.UID) []*unstructured.Unstructured {
	return objects(c.store.ofOwner(uid))
}

// ChildHeads is Children without decoding the objects.
func (c *Cluster) ChildHeads(uid types.UID) []Head {
	entries := c.store.ofOwner(uid)
	heads := make([]Head, len(entries))
	for i, e := range entries {
		heads[i] = e.head()
	}
	return heads
}

// Subscribe has fn called for every change of a watched object, in the order of
// the changes, until cancel is called. The cache holds the new state when fn runs;
// fn may read it, but must neither block, nor write to the cluster, nor call
// cancel.
func (c *Cluster) Subscribe(fn func(Change)) (cancel func()) { return c.store.subscribe(fn) }

func (e *entry) head() Head {
	return Head{Key: e.key(), UID: e.uid(), Version: e.rv().String(), TrackingID: e.tracking(), Owned: len(e.owners()) > 0}
}

func objects(entries []*entry) []*unstructured.Unstructured {
	out := make([]*unstructured.Unstructured, len(entries))
	for i, e := range entries {
		out[i] = e.object()
	}
	return out
}
