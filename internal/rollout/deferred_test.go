// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

func TestDeferring(t *testing.T) {
	key := func(name string) manifest.Key { return manifest.Key{Kind: "Secret", Namespace: "ns", Name: name} }
	step := func(name string, action plan.Action, deferred, yields bool) plan.Step {
		return plan.Step{ID: name, Key: key(name), Action: action, Deferred: deferred, Yields: yields, Precondition: "uid:" + name}
	}
	entry := func(name string) Entry { return Entry{Key: key(name), UID: types.UID(name)} }
	before := State{Deferred: []Entry{entry("old"), entry("tried")}}
	steps := []plan.Step{
		step("tried", plan.Prune, false, false), step("new", plan.SkipPrune, true, false), step("kept", plan.SkipPrune, false, false), step("other", plan.Create, false, false),
		// Who uses something may be another when its turn comes.
		step("used by now", plan.Prune, false, true), step("free by now", plan.SkipPrune, true, true), step("not reached", plan.SkipPrune, true, true),
	}
	rec := machine.Record{Steps: map[string]*machine.StepRecord{
		"tried": {State: machine.Pruned}, "new": {State: machine.Skipped},
		"used by now": {State: machine.Skipped, Deferred: true}, "free by now": {State: machine.Pruned},
	}}
	for name, tt := range map[string]struct {
		partial bool
		want    []Entry
	}{
		"Whole":   {false, []Entry{entry("new"), entry("used by now"), entry("not reached")}},
		"Partial": {true, []Entry{entry("old"), entry("new"), entry("used by now"), entry("not reached")}},
	} {
		t.Run(name, func(t *testing.T) {
			got := before.deferring(&plan.Plan{Partial: tt.partial, Groups: []plan.Group{{Steps: steps}}}, rec)
			if diff := cmp.Diff(tt.want, got.Deferred); diff != "" {
				t.Errorf("deferred (-want +got):\n%s", diff)
			}
		})
	}
}
