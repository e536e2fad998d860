// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Recreatable reports whether an object may be deleted in order to be made anew:
// never a Namespace or a CustomResourceDefinition, with which everything in it or
// of its kind would go.
func Recreatable(key manifest.Key) bool {
	return key.Kind != "Namespace" && key.Kind != "CustomResourceDefinition"
}

// update creates an object or updates the one that is there: replaced with
// method Replace, else overlaid.
func (c *Cluster) update(ctx context.Context, res Resource, key manifest.Key, want *unstructured.Unstructured, o ApplyOptions) (*unstructured.Unstructured, error) {
	return c.readAndWrite(ctx, res, key, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live == nil {
			return c.create(ctx, res, key, want, o)
		}
		next := replacement(want, live)
		if o.Method != Replace {
			next = diff.Merge(want, live, diff.Options{Manager: o.manager()})
		}
		next.SetResourceVersion(live.GetResourceVersion())
		opts := metav1.UpdateOptions{FieldManager: o.manager(), FieldValidation: o.validation(), DryRun: dry(o.DryRun)}
		out, _, err := c.try(ctx, call{op: "update", key: key, do: func(ctx context.Context) (*unstructured.Unstructured, error) {
			return c.client(res, key.Namespace).Update(ctx, next, opts)
		}})
		return out, err
	})
}

// replacement is the body that replaces live. Finalizers and owners that want
// does not speak of stay: they are promises that others rely on.
func replacement(want, live *unstructured.Unstructured) *unstructured.Unstructured {
	next := want.DeepCopy()
	if len(next.GetFinalizers()) == 0 {
		next.SetFinalizers(live.GetFinalizers())
	}
	if len(next.GetOwnerReferences()) == 0 {
		next.SetOwnerReferences(live.GetOwnerReferences())
	}
	return next
}

// create makes an object that does not exist.
func (c *Cluster) create(ctx context.Context, res Resource, key manifest.Key, want *unstructured.Unstructured, o ApplyOptions) (*unstructured.Unstructured, error) {
	opts := metav1.CreateOptions{FieldManager: o.manager(), FieldValidation: o.validation(), DryRun: dry(o.DryRun)}
	out, _, err := c.try(ctx, call{op: "create", key: key, do: func(ctx context.Context) (*unstructured.Unstructured, error) {
		return c.client(res, key.Namespace).Create(ctx, want, opts)
	}})
	return out, err
}

// readAndWrite has an object written from what it is now, nil if it does not
// exist, and again if somebody else wrote or created it in between.
func (c *Cluster) readAndWrite(ctx context.Context, res Resource, key manifest.Key, write func(live *unstructured.Unstructured) (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	for n := 1; ; n++ {
		live, err := c.Fetch(ctx, key, res.GVK.Version)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		if err != nil {
			live = nil
		}
		out, err := write(live)
		if again := apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err); !again || n == conflictTries {
			return out, err
		}
	}
}
