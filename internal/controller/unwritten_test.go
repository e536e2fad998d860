// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"runtime"
	"testing"
	"time"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// operationOf is an operation's state in a phase; it has an id if it is to be told
// from others.
func operationOf(id string, phase v1alpha1.OperationPhase, automated bool, healed ...string) *v1alpha1.OperationState {
	op := v1alpha1.Operation{Sync: &v1alpha1.SyncOperation{}, InitiatedBy: v1alpha1.OperationInitiator{Automated: automated}}
	for _, name := range healed {
		op.Sync.Resources = append(op.Sync.Resources, v1alpha1.SyncOperationResource{Kind: "ConfigMap", Name: name})
	}
	op.Info = withOperationID(nil, id)
	ended := metav1.NewTime(epoch().Add(10 * time.Second))
	return &v1alpha1.OperationState{Operation: op, Phase: phase, StartedAt: metav1.NewTime(epoch()), FinishedAt: &ended}
}

func epoch() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func TestWhenAnEndIsWritten(t *testing.T) {
	const progressing, healthy = v1alpha1.HealthProgressing, v1alpha1.HealthHealthy
	ended := epoch().Add(10 * time.Second)
	tests := map[string]struct {
		reason        string
		before, after *v1alpha1.OperationState
		health        v1alpha1.HealthStatusCode
		healAt        time.Time
		drifted       bool
		want          time.Time
	}{
		"Settled": {
			reason: "there is nothing to wait for",
			after:  operationOf("a", v1alpha1.OperationSucceeded, true), health: healthy,
		},
		"Settling": {
			reason: "its health is about to change, and was never told",
			after:  operationOf("a", v1alpha1.OperationSucceeded, true), health: progressing, want: ended.Add(settleWithin),
		},
		"SettlingAfterItWasShown": {
			reason: "that the operation has begun was written; its end can wait all the same",
			before: operationOf("a", v1alpha1.OperationRunning, true),
			after:  operationOf("a", v1alpha1.OperationSucceeded, true), health: progressing, want: ended.Add(settleWithin),
		},
		"EndWritten": {
			reason: "what happens after the end was written is news of its own",
			before: operationOf("a", v1alpha1.OperationSucceeded, true),
			after:  operationOf("a", v1alpha1.OperationSucceeded, true), health: progressing,
		},
		"Failed": {
			reason: "a failure is told at once",
			after:  operationOf("a", v1alpha1.OperationFailed, true), health: progressing,
		},
		"ByAPerson": {
			reason: "somebody waits for it",
			before: operationOf("a", v1alpha1.OperationRunning, false),
			after:  operationOf("a", v1alpha1.OperationSucceeded, false), health: progressing,
		},
		"Heal": {
			reason: "nothing was healed for long",
			after:  operationOf("a", v1alpha1.OperationSucceeded, true, "c"), health: healthy, want: time.Time{}.Add(writeEvery),
		},
		"HealAfterHeal": {
			reason: "they are written together",
			before: operationOf("a", v1alpha1.OperationSucceeded, true, "c"),
			after:  operationOf("b", v1alpha1.OperationSucceeded, true, "c"), health: healthy,
			healAt: ended.Add(-time.Second), want: ended.Add(writeEvery - time.Second),
		},
		"DriftThatWaits": {
			reason: "what is not healed at once is to be seen",
			before: operationOf("a", v1alpha1.OperationSucceeded, true, "c"),
			after:  operationOf("a", v1alpha1.OperationSucceeded, true, "c"), health: healthy, healAt: ended, drifted: true,
		},
		"NoOperation": {reason: "there was none"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := &session{st: &appState{healAt: tc.healAt}, app: &v1alpha1.Application{}, before: &v1alpha1.Application{}}
			s.before.Status.OperationState, s.app.Status.OperationState = tc.before, tc.after
			s.app.Status.Health.Status = tc.health
			s.before.Status.Sync.Status, s.app.Status.Sync.Status = v1alpha1.SyncStatusSynced, v1alpha1.SyncStatusSynced
			if tc.drifted {
				s.app.Status.Sync.Status = v1alpha1.SyncStatusOutOfSync
			}
			if got := s.writeDue(); !got.Equal(tc.want) {
				t.Errorf("%s: it is written at %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestWhenABeginningIsWritten(t *testing.T) {
	hook := &plan.Plan{Groups: []plan.Group{{Steps: []plan.Step{{Action: plan.Hook}}}}}
	tests := map[string]struct {
		reason string
		run    operationRun
		snap   rollout.Snapshot
		want   time.Time
	}{
		"Queued": {
			reason: "that it waits for others is told when that takes long",
			run:    operationRun{request: operationOf("a", "", true).Operation, plan: &plan.Plan{}},
			want:   epoch().Add(queuedFor),
		},
		"Begun": {
			reason: "it may be over soon",
			run:    operationRun{request: operationOf("a", "", true).Operation, plan: &plan.Plan{}},
			snap:   rollout.Snapshot{Begun: epoch().Add(time.Minute)},
			want:   epoch().Add(time.Minute + beginWithin),
		},
		"ByAPerson": {
			reason: "who asked for it sees it begin",
			run:    operationRun{request: operationOf("a", "", false).Operation, plan: &plan.Plan{}},
		},
		"Hooks": {
			reason: "after a crash a hook must be known to belong to it",
			run:    operationRun{request: operationOf("a", "", true).Operation, plan: hook},
		},
		"Retry": {
			reason: "the attempt before was told",
			run:    operationRun{request: operationOf("a", "", true).Operation, plan: &plan.Plan{}},
			snap:   rollout.Snapshot{Attempt: 2},
		},
		"Heal": {
			reason: "heals are short",
			run:    operationRun{request: operationOf("a", "", true, "c").Operation, plan: &plan.Plan{}},
			want:   epoch().Add(progressEvery),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.snap.StartedAt = epoch()
			if got := (&session{}).beginDue(&tc.run, tc.snap); !got.Equal(tc.want) {
				t.Errorf("%s: it is shown at %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// An operation whose end was not written before the controller stopped is not lost.
func TestUnshownOperation(t *testing.T) {
	rec := func() *machine.Record {
		return &machine.Record{
			Operation: "b", Attempt: 1, StartedAt: epoch(), FinishedAt: epoch().Add(time.Second), Revisions: []string{"r1"},
			Outcome: &machine.Outcome{Phase: machine.PhaseSucceeded},
		}
	}
	later := operationOf("", v1alpha1.OperationError, false)
	later.StartedAt = metav1.NewTime(epoch().Add(time.Minute))
	earlier := operationOf("a", v1alpha1.OperationSucceeded, true)
	earlier.StartedAt = metav1.NewTime(epoch().Add(-time.Minute))
	tests := map[string]struct {
		shown    *v1alpha1.OperationState
		released string
		change   func(*machine.Record)
		want     bool
	}{
		"NothingIsShown":               {released: "b", want: true},
		"AnEarlierIsShown":             {shown: earlier, released: "b", want: true},
		"ItIsShown":                    {shown: operationOf("b", v1alpha1.OperationRunning, true), released: "b"},
		"ALaterIsShown":                {shown: later, released: "b"},
		"ItReleasedNothingAsAHealDoes": {released: "a"},
		"ItHasNotEnded":                {released: "b", change: func(r *machine.Record) { r.Outcome = nil }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := rec()
			if tc.change != nil {
				tc.change(r)
			}
			s := &session{st: &appState{desired: &pipeline.Desired{Revisions: []string{"r2"}}}, app: &v1alpha1.Application{}}
			s.app.Spec.Source = &v1alpha1.ApplicationSource{RepoURL: "https://git.example.test/shop.git", Path: "app"}
			s.app.Status.OperationState = tc.shown
			s.st.head = s.st.desired
			s.st.memory = rollout.State{Operation: r, Released: &rollout.Release{Operation: tc.released}}
			got := s.unshown()
			if (got != nil) != tc.want {
				t.Fatalf("the operation is %+v", got)
			}
			if got != nil && (operationID(got.Operation) != "b" || got.SyncResult.Revision != "r1" || got.SyncResult.Source.Path != "app" || !got.StartedAt.Time.Equal(epoch())) {
				t.Errorf("the operation is %+v, its result %+v", got, got.SyncResult)
			}
		})
	}
}

// An Application that waits for a place is written when that takes long: most soon
// have one, and are then written for what comes of it.
func TestWhoWaitsForAPlaceSaysSoLater(t *testing.T) {
	s := &session{st: &appState{queued: epoch()}, app: &v1alpha1.Application{}, before: &v1alpha1.Application{}, postponed: true}
	if due := s.writeDue(); !due.Equal(epoch().Add(placeWithin)) {
		t.Errorf("written at %s", due)
	}
}

// A rollout lasts much longer than the look that began it, and there are many: it
// does not keep what the look has decoded.
func TestARunKeepsNothingOfTheLookThatBeganIt(t *testing.T) {
	run := &operationRun{Run: &rollout.Run{}}
	explains := make(chan any, 1)
	look := func() weak.Pointer[session] {
		s := &session{
			applications: &applications{wakeups: newWakeups(nil), places: newPlaces(nil), installation: &installation{}},
			app:          &v1alpha1.Application{}, dest: &destination{Cluster: &cluster.Cluster{}},
		}
		s.follow(run)
		explains <- s.explainer(&plan.Plan{})
		return weak.Make(s)
	}
	s := look()
	runtime.GC()
	if s.Value() != nil {
		t.Error("the look is still in memory")
	}
	runtime.KeepAlive(explains)
}
