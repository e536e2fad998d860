// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/rollout/rollouttest"
)

// Who uses an object is asked when the turn of its prune comes, not when the plan is
// made.
func TestPrunesYieldToWhoUsesTheirObject(t *testing.T) {
	user := key("Pod", "user")
	for name, tt := range map[string]struct {
		deferred, yields bool
		ask, used        bool
		gone, put        bool
		says             string
	}{
		"used by now":                           {yields: true, ask: true, used: true, put: true, says: "deferred: still used by Pod/user"},
		"used by nobody":                        {yields: true, ask: true, gone: true, says: "pruned"},
		"used when planned, by nobody now":      {deferred: true, yields: true, ask: true, gone: true, says: "pruned"},
		"used when planned and now":             {deferred: true, yields: true, ask: true, used: true, put: true, says: "deferred: still used by Pod/user"},
		"used when planned, nobody to ask":      {deferred: true, yields: true, put: true, says: "deferred by the plan"},
		"used, but pruned all the same":         {ask: true, used: true, gone: true, says: "pruned"},
		"used when planned, waits for its turn": {deferred: true, ask: true, says: "deferred by the plan"},
	} {
		t.Run(name, func(t *testing.T) {
			w := emptyWorld()
			old := rollouttest.Prune(w.cluster.Put(object("ConfigMap", "old", "")))
			old.Yields = tt.yields
			if old.Deferred = tt.deferred; tt.deferred {
				old.Action, old.Reason = plan.SkipPrune, "deferred by the plan"
			}
			w.before = func(_ int, m *machine.Machine) {
				if tt.ask {
					m.Users(func(k manifest.Key) (manifest.Key, bool) { return user, tt.used && k.Name == "old" })
				}
			}
			w.begin(sync(0, old), sync(1, step(object("ConfigMap", "new", ""))))
			w.run(t)
			if _, there := w.cluster.Get(key("ConfigMap", "old")); there == tt.gone {
				t.Errorf("the object is there: %t, want %t", there, !tt.gone)
			}
			s := w.record.Steps[w.plan.Groups[0].Steps[0].ID]
			if s == nil || s.Deferred != tt.put || s.Message != tt.says || w.record.Outcome.Phase != machine.PhaseSucceeded {
				t.Errorf("the step became %+v, want deferred %t and %q; %+v", s, tt.put, tt.says, w.record.Outcome)
			}
		})
	}
}

// A question names what would be lost with each object, and counts beyond a dozen.
func TestQuestionNamesEachObject(t *testing.T) {
	w := emptyWorld()
	ask := func(kind, name, risk string) plan.Step {
		s := rollouttest.Prune(w.cluster.Put(object(kind, name, "")))
		s.Action, s.Confirm, s.Risk = plan.SkipPrune, true, risk
		return s
	}
	steps := []plan.Step{ask("PersistentVolumeClaim", "data", "the data of the claim may be lost")}
	for i := range 13 {
		steps = append(steps, ask("ConfigMap", fmt.Sprintf("c%02d", i), "14 of 20 objects would be deleted"))
	}
	w.before = func(turn int, m *machine.Machine) {
		if turn > 0 {
			m.Confirm()
		}
	}
	w.begin(sync(0, steps...))
	w.later = []happening{{0, func() {}}}
	w.run(t)
	want := "Sync wave 0 (1/1): waiting for pruning confirmation of /PersistentVolumeClaim/data and 13 more resources: " +
		"PersistentVolumeClaim/data: the data of the claim may be lost; " +
		"ConfigMap/c00, ConfigMap/c01, ConfigMap/c02, ConfigMap/c03, ConfigMap/c04, ConfigMap/c05, ConfigMap/c06, ConfigMap/c07, ConfigMap/c08, ConfigMap/c09, ConfigMap/c10: " +
		"14 of 20 objects would be deleted; and 2 more"
	if len(w.waits) == 0 || !strings.HasPrefix(w.waits[0], want) {
		t.Errorf("it asks %q, want %q", w.waits, want)
	}
}
