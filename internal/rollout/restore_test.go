// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/rollout/rollouttest"
)

// While a run waits for a person, what it has applied can be restored: that and no
// more, and at no other time.
func TestRestoresWhileItAsks(t *testing.T) {
	inMemory(t, func(p *place, m *rollouttest.Memory) {
		ask := rollouttest.Prune(m.Put(p.object("ConfigMap", "old", "")))
		ask.Action, ask.Confirm, ask.Risk = plan.SkipPrune, true, "much would be lost"
		settings, late := p.object("ConfigMap", "settings", ""), p.object("ConfigMap", "late", "")
		r := p.driver().Start(p.Context(), p.operation("op-1",
			rollouttest.Group(manifest.PreSync, 0, rollouttest.Hook(p.object("ConfigMap", "helper", ""))),
			rollouttest.Group(manifest.Sync, 0, rollouttest.Step(settings)),
			rollouttest.Group(manifest.Sync, 1, ask, rollouttest.Step(late)),
		))
		p.until(event.Waiting, "old")
		first := p.get("ConfigMap", "settings")
		if err := m.Delete(p.Context(), manifest.KeyOf(settings), cluster.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		all := []manifest.Key{manifest.KeyOf(settings), manifest.KeyOf(late), manifest.KeyOf(p.object("ConfigMap", "helper", ""))}
		if got := r.Restore(all); !slices.Equal(got, all[:1]) {
			t.Errorf("it restores %v, want %v", got, all[:1])
		}
		synctest.Wait()
		second := p.get("ConfigMap", "settings")
		if second == nil || second.GetUID() == first.GetUID() || p.get("ConfigMap", "late") != nil {
			t.Fatalf("restored: %v, not begun: %v", second, p.get("ConfigMap", "late"))
		}
		r.Confirm()
		p.mustEnd(p.await(r), machine.PhaseSucceeded)
		if got := r.Restore(all); len(got) > 0 {
			t.Errorf("a run that has ended restores %v", got)
		}
		owned := p.store.load(t).Owned()
		if !slices.Contains(owned, rollout.Entry{Key: manifest.KeyOf(settings), UID: second.GetUID()}) {
			t.Errorf("the inventory does not know the object that was made anew: %v", owned)
		}
	})
}
