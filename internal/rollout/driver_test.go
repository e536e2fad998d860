// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/rollout/rollouttest"
)

// frontend is an application of one wave whose Deployment needs the Secret of an
// ExternalSecret.
func (p *place) frontend(fate string) plan.Group {
	return rollouttest.Group(manifest.Sync, 0,
		rollouttest.Needing(rollouttest.Step(p.object("Deployment", "frontend", "ok@1s")), "frontend-secret"),
		rollouttest.Step(p.object("ExternalSecret", "frontend-secret", fate)),
	)
}

func TestSecretPrecedesItsUser(t *testing.T) {
	inMemory(t, func(p *place, _ *rollouttest.Memory) {
		r := p.driver().Start(p.Context(), p.operation("op-1", p.frontend("ok@5s")))
		e := p.until(event.Waiting, "frontend-secret")
		want := "Sync wave 0 (1/1): waiting for Secret/frontend-secret of external-secrets.io/ExternalSecret/frontend-secret, " +
			"which Deployment/frontend needs: "
		if !strings.HasPrefix(e.Message, want) {
			t.Errorf("it says %q, want prefix %q", e.Message, want)
		}
		if p.get("Deployment", "frontend") != nil {
			t.Error("the Deployment was created before the Secret")
		}
		p.mustEnd(p.await(r), machine.PhaseSucceeded)
		if p.get("Deployment", "frontend") == nil {
			t.Error("the Deployment was not created")
		}
	})
}

func TestRefusedSecretStopsTheRollout(t *testing.T) {
	inMemory(t, func(p *place, m *rollouttest.Memory) {
		outcome := p.run(p.operation("op-1", p.frontend("bad@1s")))
		p.mustEnd(outcome, machine.PhaseFailed)
		if !strings.Contains(outcome.Message, "SecretSyncedError: permission denied") {
			t.Errorf("the outcome does not say why: %q", outcome.Message)
		}
		external := manifest.KeyOf(p.object("ExternalSecret", "frontend-secret", ""))
		if diff := cmp.Diff([]manifest.Key{external}, outcome.Causes); diff != "" || outcome.Retry {
			t.Errorf("what would justify another attempt (-want +got):\n%s\nretry on a timer: %t", diff, outcome.Retry)
		}
		for _, w := range m.Writes() {
			if w.Key.Kind == "Deployment" {
				t.Errorf("the Deployment was written: %+v", w)
			}
		}
	})
}

func TestTransientErrorsAreRetried(t *testing.T) {
	inMemory(t, func(p *place, m *rollouttest.Memory) {
		failures := 0
		m.Inject(func(verb string, key manifest.Key) error {
			if key.Name != "settings" || failures >= 3 {
				return nil
			}
			failures++
			return &cluster.Error{Op: verb, Key: key, Server: "memory", Reason: cluster.Unreachable, Err: io.EOF}
		})
		p.mustEnd(p.run(p.operation("op-1",
			rollouttest.Group(manifest.Sync, 0, rollouttest.Step(p.object("ConfigMap", "settings", ""))),
		)), machine.PhaseSucceeded)
		if failures != 3 {
			t.Errorf("%d failures, want 3", failures)
		}
	})
}

func TestOutageIsVisibleAndEnds(t *testing.T) {
	inMemory(t, func(p *place, m *rollouttest.Memory) {
		m.Inject(func(verb string, key manifest.Key) error {
			if key.Name != "settings" {
				return nil
			}
			return &cluster.Error{Op: verb, Key: key, Server: "memory", Reason: cluster.Unreachable, Err: io.EOF}
		})
		op := p.operation("op-1", rollouttest.Group(manifest.Sync, 0, rollouttest.Step(p.object("ConfigMap", "settings", ""))))
		op.Limits = &machine.Limits{NoProgress: time.Minute}
		r := p.driver().Start(p.Context(), op)
		p.eventually("that tells of the outage", func(e event.Event) bool {
			return e.Type == event.Waiting && strings.HasPrefix(e.Message, "dry run of ConfigMap/settings: ")
		})
		if m := r.Snapshot().Message; !strings.HasPrefix(m, "dry run of ConfigMap/settings: ") || !strings.HasSuffix(m, "; trying again") {
			t.Errorf("during the outage it says %q", m)
		}
		outcome := p.await(r)
		p.mustEnd(outcome, machine.PhaseFailed)
		if !outcome.Retry {
			t.Errorf("an outage is to be retried on a timer: %+v", outcome)
		}
	})
}

func TestAnotherWriterStopsTheRun(t *testing.T) {
	inMemory(t, func(p *place, m *rollouttest.Memory) {
		p.store.err = fmt.Errorf("save: %w", rollout.ErrConflict)
		outcome := p.run(p.operation("op-1",
			rollouttest.Group(manifest.PreSync, 0, rollouttest.Hook(p.object("Job", "init", "ok@1s"))),
		))
		if !outcome.Abandoned || !errors.Is(outcome.Err, rollout.ErrConflict) {
			t.Errorf("the run ended %+v", outcome)
		}
		if w := m.Writes(); len(w) > 0 {
			t.Errorf("it wrote after it lost its record: %+v", w)
		}
	})
}

func TestNewerReleaseSupersedesAWait(t *testing.T) {
	inMemory(t, func(p *place, _ *rollouttest.Memory) {
		r := p.driver().Start(p.Context(), p.operation("op-1",
			rollouttest.Group(manifest.Sync, 0, rollouttest.Step(p.object("Deployment", "web", "never"))),
			rollouttest.Group(manifest.Sync, 1, rollouttest.Step(p.object("ConfigMap", "settings", ""))),
		))
		p.until(event.Waiting, "web")
		r.Supersede("superseded by 5d8c6f1")
		outcome := p.await(r)
		p.mustEnd(outcome, machine.PhaseFailed)
		if !outcome.Superseded || outcome.Terminated || outcome.Message != "superseded by 5d8c6f1" {
			t.Errorf("the outcome is %+v", outcome)
		}
		attempts := p.store.load(t).Attempts
		if len(attempts) != 1 || !attempts[0].Outcome.Superseded {
			t.Errorf("the attempts are %s", jsonOf(t, attempts))
		}
	})
}

func TestPruneWaitsForConfirmation(t *testing.T) {
	inMemory(t, func(p *place, m *rollouttest.Memory) {
		old := m.Put(p.object("ConfigMap", "old", ""))
		step := rollouttest.Prune(old)
		step.Action, step.Confirm, step.Reason = plan.SkipPrune, true, "waits for confirmation"
		r := p.driver().Start(p.Context(), p.operation("op-1", rollouttest.Group(manifest.Sync, 0, step)))
		if e := p.until(event.Waiting, "old"); !strings.Contains(e.Message, "waiting for pruning confirmation of /ConfigMap/old") {
			t.Errorf("it says %q", e.Message)
		}
		select {
		case <-r.Done():
			t.Fatalf("it did not wait: %+v", r.Outcome())
		case <-time.After(time.Hour):
		}
		if p.get("ConfigMap", "old") == nil {
			t.Fatal("the object was pruned without confirmation")
		}
		r.Confirm()
		p.mustEnd(p.await(r), machine.PhaseSucceeded)
		if p.get("ConfigMap", "old") != nil {
			t.Error("the object is still there after the confirmation")
		}
	})
}

// What is wrong with an object is said once, with what to do about it.
func TestInvalidPlanSaysWhatToDo(t *testing.T) {
	inMemory(t, func(p *place, _ *rollouttest.Memory) {
		unknown := p.object("ConfigMap", "gadget", "")
		unknown.SetAPIVersion("example.test/v1")
		unknown.SetKind("Gadget")
		op := p.operation("op-1", rollouttest.Group(manifest.Sync, 0, rollouttest.Step(unknown)))
		op.Plan.Findings = append(op.Plan.Findings, diag.Diagnostic{
			Code: plan.CodeKindUnknown, Severity: diag.Error, Subject: manifest.KeyOf(unknown),
			Message: "Gadget/gadget: nobody serves its kind", Hint: "deliver its definition before",
		})
		outcome := p.run(op)
		p.mustEnd(outcome, machine.PhaseFailed)
		want := "one or more synchronization tasks are not valid: Gadget/gadget: nobody serves its kind: deliver its definition before"
		if outcome.Message != want {
			t.Errorf("the message is %q, want %q", outcome.Message, want)
		}
	})
}

func TestInvalidPlanIsNotBegun(t *testing.T) {
	inMemory(t, func(p *place, m *rollouttest.Memory) {
		unknown := p.object("ConfigMap", "gadget", "")
		unknown.SetAPIVersion("example.test/v1")
		unknown.SetKind("Gadget")
		outcome := p.run(p.operation("op-1",
			rollouttest.Group(manifest.Sync, 0, rollouttest.Step(p.object("ConfigMap", "settings", ""))),
			rollouttest.Group(manifest.Sync, 1, rollouttest.Step(unknown)),
		))
		p.mustEnd(outcome, machine.PhaseFailed)
		want := "one or more synchronization tasks are not valid: the cluster does not serve kind Gadget.example.test"
		if outcome.Message != want {
			t.Errorf("the message is %q, want %q", outcome.Message, want)
		}
		if w := m.Writes(); len(w) > 0 {
			t.Errorf("something was written: %+v", w)
		}
	})
}

func TestKindThatComesLaterIsWaitedFor(t *testing.T) {
	inMemory(t, func(p *place, m *rollouttest.Memory) {
		gadget := p.object("ConfigMap", "gadget", "")
		gadget.SetAPIVersion("example.test/v1")
		gadget.SetKind("Gadget")
		op := p.operation("op-1", rollouttest.Group(manifest.Sync, 0, rollouttest.Step(gadget)))
		op.Plan.Findings = append(op.Plan.Findings, diag.Diagnostic{
			Code: plan.CodeKindNotKnownYet, Severity: diag.Info, Subject: manifest.KeyOf(gadget),
		})
		op.Plan.Groups[0].Steps[0].Later = "something else is to register Gadget.example.test"
		r := p.driver().Start(p.Context(), op)
		p.eventually("the wait for the kind", func(e event.Event) bool { return strings.Contains(e.Message, "trying again") })
		definition := rollouttest.Object("CustomResourceDefinition", "gadgets.example.test", "")
		definition.SetAPIVersion("apiextensions.k8s.io/v1")
		definition.Object["spec"] = map[string]any{"group": "example.test", "names": map[string]any{"kind": "Gadget"}, "scope": "Namespaced"}
		m.Put(definition)
		p.mustEnd(p.await(r), machine.PhaseSucceeded)
		if _, ok := m.Get(manifest.KeyOf(gadget)); !ok {
			t.Error("the object was not created")
		}
	})
}

// A run that is killed at any moment and continued ends as one that was not, and
// runs its hook once.
func TestKilledAtAnyMoment(t *testing.T) {
	for at := time.Duration(0); at < 12*time.Second; at += 250 * time.Millisecond {
		t.Run(at.String(), func(t *testing.T) {
			inMemory(t, func(p *place, m *rollouttest.Memory) {
				groups := []plan.Group{
					rollouttest.Group(manifest.PreSync, 0, rollouttest.Hook(p.object("Job", "init", "ok@3s"), manifest.HookSucceeded)),
					p.frontend("ok@2s"),
					rollouttest.Group(manifest.Sync, 1, rollouttest.Step(p.object("Job", "migration", "ok@2s"))),
					rollouttest.Group(manifest.PostSync, 0, rollouttest.Hook(p.object("Job", "smoke", "ok@2s"))),
				}
				r := p.driver().Start(p.Context(), p.operation("op-1", groups...))
				select {
				case <-time.After(at):
					r.Abandon()
				case <-r.Done():
				}
				if outcome := p.await(r); outcome.Abandoned {
					p.mustEnd(p.run(p.operation("op-1", groups...)), machine.PhaseSucceeded)
				}
				created := map[string]int{}
				for _, w := range m.Writes() {
					if w.Verb == "create" && w.Err == nil {
						created[w.Key.Name]++
					}
				}
				if diff := cmp.Diff(map[string]int{"init": 1, "smoke": 1}, created); diff != "" {
					t.Errorf("hooks created (-want +got):\n%s", diff)
				}
				if p.get("Job", "init") != nil || p.get("Job", "smoke") == nil || p.get("Deployment", "frontend") == nil {
					t.Error("the final state is not that of an undisturbed run")
				}
			})
		})
	}
}
