// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rollout"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/rollout/rollouttest"
)

// tried is a cluster that knows which objects were tried.
type tried struct {
	rollout.Cluster
	names []string
}

func (c *tried) Try(ctx context.Context, obj *unstructured.Unstructured, anew bool, o cluster.ApplyOptions) error {
	c.names = append(c.names, obj.GetName())
	return c.Cluster.Try(ctx, obj, anew, o)
}

// Whether the world is still as it was planned is asked when everything has been
// tried and nothing been written. If it is not, nothing is.
func TestAskedRightBeforeTheFirstWrite(t *testing.T) {
	for moved, want := range map[string]machine.Phase{"": machine.PhaseSucceeded, "ConfigMap/a was changed": machine.PhaseFailed} {
		inMemory(t, func(p *place, m *rollouttest.Memory) {
			c := &tried{Cluster: p.cluster}
			p.cluster = c
			op := p.operation("op-1", rollouttest.Group(manifest.Sync, 0, rollouttest.Step(p.object("ConfigMap", "a", ""))))
			asked := 0
			op.AsPlanned = func() string {
				asked++
				if _, there := m.Get(manifest.KeyOf(p.object("ConfigMap", "a", ""))); there || len(c.names) == 0 {
					t.Errorf("asked when the object is there (%v) and %q were tried", there, c.names)
				}
				return moved
			}
			r := p.driver().Start(p.Context(), op)
			p.mustEnd(p.await(r), want)
			_, there := m.Get(manifest.KeyOf(p.object("ConfigMap", "a", "")))
			if asked != 1 || there != (moved == "") {
				t.Errorf("%q: asked %d times, the object is there: %v", moved, asked, there)
			}
			if moved != "" && r.Snapshot().Message != moved {
				t.Errorf("the operation says %q", r.Snapshot().Message)
			}
		})
	}
}
