// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"testing"
	"time"

	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/rollout/rollouttest"
)

func TestRecordsAreSavedSeldom(t *testing.T) {
	tests := map[string]struct {
		reason string
		groups func(*place, *rollouttest.Memory) []plan.Group
		want   int
	}{
		"Quick": {
			reason: "all of it can be applied again, and it is over at once",
			groups: func(p *place, _ *rollouttest.Memory) []plan.Group {
				return []plan.Group{
					rollouttest.Group(manifest.Sync, 0, rollouttest.Step(p.object("ConfigMap", "a", ""))),
					rollouttest.Group(manifest.Sync, 1, rollouttest.Step(p.object("Deployment", "b", "ok@500ms"))),
					rollouttest.Group(manifest.Sync, 2, rollouttest.Step(p.object("ConfigMap", "c", ""))),
				}
			},
			want: 1,
		},
		"Slow": {
			reason: "the wave before the one that takes long, that one, and the end",
			groups: func(p *place, _ *rollouttest.Memory) []plan.Group {
				return []plan.Group{
					rollouttest.Group(manifest.Sync, 0, rollouttest.Step(p.object("ConfigMap", "a", ""))),
					rollouttest.Group(manifest.Sync, 1, rollouttest.Step(p.object("Deployment", "b", "ok@10s"))),
					rollouttest.Group(manifest.Sync, 2, rollouttest.Step(p.object("ConfigMap", "c", ""))),
				}
			},
			want: 3,
		},
		"Definition": {
			reason: "that it is ours only the record says",
			groups: func(p *place, m *rollouttest.Memory) []plan.Group {
				crd := rollouttest.Object("CustomResourceDefinition", "widgets.example.test", "")
				crd.SetAPIVersion("apiextensions.k8s.io/v1")
				crd.Object["spec"] = map[string]any{"group": "example.test", "names": map[string]any{"kind": "Widget"}, "scope": "Namespaced"}
				there := crd.DeepCopy()
				there.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}
				m.Put(there)
				return []plan.Group{
					rollouttest.Group(manifest.Sync, 0, rollouttest.Step(crd)),
					rollouttest.Group(manifest.Sync, 1, rollouttest.Step(p.object("ConfigMap", "c", ""))),
				}
			},
			want: 2,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(p *place, m *rollouttest.Memory) {
				p.mustEnd(p.run(p.operation("op-1", tc.groups(p, m)...)), machine.PhaseSucceeded)
				if p.store.saves != tc.want {
					t.Errorf("%s: saved %d times, want %d", tc.reason, p.store.saves, tc.want)
				}
			})
		})
	}
}

// A run that waits has saved how far it is.
func TestWaitingRunIsSaved(t *testing.T) {
	inMemory(t, func(p *place, _ *rollouttest.Memory) {
		r := p.driver().Start(p.Context(), p.operation("op-1",
			rollouttest.Group(manifest.Sync, 0, rollouttest.Step(p.object("ConfigMap", "a", ""))),
			rollouttest.Group(manifest.Sync, 1, rollouttest.Step(p.object("Deployment", "b", "ok@1m"))),
			rollouttest.Group(manifest.Sync, 2, rollouttest.Step(p.object("ConfigMap", "c", ""))),
		))
		p.eventually("that it waits", func(e event.Event) bool { return e.Type == event.Waiting })
		time.Sleep(10 * time.Second)
		state := p.store.load(p.T)
		if state.Operation == nil || state.Operation.Operation != "op-1" || len(state.Operation.Steps) == 0 {
			t.Errorf("the store knows %+v", state.Operation)
		}
		p.mustEnd(p.await(r), machine.PhaseSucceeded)
	})
}
