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

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Cluster is what a rollout needs of its destination.
type Cluster interface {
	Kinds
	Live
	Direct
	Writer
}

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
	// Children returns the objects that name uid as an owner.
	Children(uid types.UID) []*unstructured.Unstructured
	// Subscribe calls fn, which must not block, for every change.
	Subscribe(fn func(Change)) (cancel func())
}

// Direct asks the API server.
type Direct interface {
	// Fetch returns an object; the error is NotFound if it does not exist.
	Fetch(ctx context.Context, key manifest.Key, version string) (*unstructured.Unstructured, error)
	// Warnings returns the messages of an object's latest warning events, newest
	// first, as "Reason: message".
	Warnings(ctx context.Context, key manifest.Key, uid types.UID) ([]string, error)
}

// Writer changes objects.
type Writer interface {
	// Apply writes the desired state of an object.
	Apply(ctx context.Context, obj *unstructured.Unstructured, o ApplyOptions) (*unstructured.Unstructured, error)
	// Create creates an object; the error is AlreadyExists if its name is taken.
	Create(ctx context.Context, obj *unstructured.Unstructured, dryRun bool) (*unstructured.Unstructured, error)
	// Delete deletes an object; that it does not exist is no error.
	Delete(ctx context.Context, key manifest.Key, o DeleteOptions) error
	// RemoveFinalizer takes a finalizer off; that the object does not exist is no
	// error.
	RemoveFinalizer(ctx context.Context, key manifest.Key, finalizer string) error
}

// Change is a change of a watched object.
type Change struct {
	Key    manifest.Key
	UID    types.UID
	Owners []types.UID
}

// ApplyOptions are options of an apply.
type ApplyOptions struct {
	DryRun bool
	// Force deletes and recreates what cannot be changed.
	Force bool
	// NoValidation accepts unknown fields.
	NoValidation bool
}

// DeleteOptions are options of a deletion.
type DeleteOptions struct {
	// UID is a precondition.
	UID         types.UID
	Propagation metav1.DeletionPropagation
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
