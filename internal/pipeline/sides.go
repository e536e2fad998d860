// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Sides returns an object as it is and as applying it would leave it, both as they are compared: for people who want to
// see a difference in its surroundings.
func (c *Comparison) Sides(ctx context.Context, dest Destination, desired *unstructured.Unstructured) (live, predicted *unstructured.Unstructured, err error) {
	key := manifest.KeyOf(desired)
	live, owners, exists := dest.GetOwned(key)
	if !exists {
		return nil, desired, nil
	}
	if live.GetAPIVersion() != desired.GetAPIVersion() {
		if live, err = dest.Fetch(ctx, key, desired.GroupVersionKind().Version); err != nil {
			return nil, nil, err
		}
		owners = nil
	}
	trial := Foretold(c.write, desired, live)
	opts := c.Options
	opts.ManagedFields, opts.TakesOver = owners, trial.Method == cluster.ServerSide && !trial.KeepOwners
	predicted, err = dest.Apply(ctx, diff.Respect(desired, live, opts, trial.Method == cluster.ServerSide), trial)
	if err != nil {
		return nil, nil, err
	}
	live, predicted = diff.Sides(desired, live, predicted, opts)
	return live, predicted, nil
}
