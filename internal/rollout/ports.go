// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Cluster is what a rollout needs of its destination.
type Cluster interface {
	Kinds
	Live
	Direct
	Writer
}

var _ Cluster = (*cluster.Cluster)(nil)

// Kinds tells which kinds the cluster serves and has them watched.
type Kinds interface {
	// Scope reports whether a kind is namespaced, and whether it is served at all.
	Scope(gk schema.GroupKind) (namespaced, known bool)
	// Watch has the kinds watched; it returns when they are synced. It is an error
	// for kinds that are not served, the others are watched all the same.
	Watch(ctx context.Context, gks ...schema.GroupKind) error
}

// Live reads watched objects from memory.
type Live interface {
	// Get returns an object, never older than this process' own last write of it.
	Get(key manifest.Key) (*unstructured.Unstructured, bool)
	// GetOwned is Get with the entries that say which manager owns which field.
	GetOwned(key manifest.Key) (*unstructured.Unstructured, []metav1.ManagedFieldsEntry, bool)
	// List returns the watched objects of a kind.
	List(gk schema.GroupKind) []*unstructured.Unstructured
	// Head returns what tells one state of an object from another.
	Head(key manifest.Key) (cluster.Head, bool)
	// Children returns the objects that name uid as an owner, ChildHeads their heads.
	Children(uid types.UID) []*unstructured.Unstructured
	ChildHeads(uid types.UID) []cluster.Head
	// Subscribe calls fn, which must not block, for every change.
	Subscribe(fn func(cluster.Change)) (cancel func())
}

// Direct asks the API server.
type Direct interface {
	// Fetch returns an object; the error is NotFound if it does not exist.
	Fetch(ctx context.Context, key manifest.Key, version string) (*unstructured.Unstructured, error)
	// Blocked says in one line why an object does not get on, as far down as can be
	// seen; empty if nothing is known to be wrong.
	Blocked(ctx context.Context, key manifest.Key) string
}

// Writer changes objects.
type Writer interface {
	// Try has the API server say whether it would accept a write, without storing
	// anything: one as Apply makes it or, for an object that is made anew, as Create
	// does. It need not be asked what it is known to accept.
	Try(ctx context.Context, obj *unstructured.Unstructured, anew bool, o cluster.ApplyOptions) error
	// Apply writes the desired state of an object.
	Apply(ctx context.Context, obj *unstructured.Unstructured, o cluster.ApplyOptions) (*unstructured.Unstructured, error)
	// Create creates an object; the error is AlreadyExists if its name is taken.
	Create(ctx context.Context, obj *unstructured.Unstructured, o cluster.ApplyOptions) (*unstructured.Unstructured, error)
	// Delete deletes an object; that it does not exist, or that its name belongs to
	// an object of another UID, is no error.
	Delete(ctx context.Context, key manifest.Key, o cluster.DeleteOptions) error
	// RemoveFinalizer takes a finalizer off; that the object does not exist is no
	// error.
	RemoveFinalizer(ctx context.Context, key manifest.Key, finalizer string) error
}

// Store keeps the state of one application. A store remembers what it read and
// refuses to overwrite what somebody else has written since.
type Store interface {
	// Save writes the state; the error is ErrConflict if somebody else has written.
	Save(ctx context.Context, s State) error
}

// ErrConflict is the error of a Store whose record was changed by another
// writer: this process no longer owns the application and must not act.
var ErrConflict = errors.New("the release record was changed by another writer")
