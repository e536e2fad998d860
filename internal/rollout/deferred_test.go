// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

func TestDeferring(t *testing.T) {
	key := func(name string) manifest.Key { return manifest.Key{Kind: "Secret", Namespace: "ns", Name: name} }
	step := func(name string, action plan.Action, deferred bool) plan.Step {
		return plan.Step{Key: key(name), Action: action, Deferred: deferred, Precondition: "uid:" + name}
	}
	before := State{Deferred: []Entry{{Key: key("old"), UID: "old"}, {Key: key("tried"), UID: "tried"}}}
	steps := []plan.Step{step("tried", plan.Prune, false), step("new", plan.SkipPrune, true), step("kept", plan.SkipPrune, false), step("other", plan.Create, false)}
	for name, tt := range map[string]struct {
		partial bool
		want    []Entry
	}{
		"Whole":   {false, []Entry{{Key: key("new"), UID: "new"}}},
		"Partial": {true, []Entry{{Key: key("old"), UID: "old"}, {Key: key("new"), UID: "new"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := before.deferring(&plan.Plan{Partial: tt.partial, Groups: []plan.Group{{Steps: steps}}})
			if diff := cmp.Diff(tt.want, got.Deferred); diff != "" {
				t.Errorf("deferred (-want +got):\n%s", diff)
			}
		})
	}
}
