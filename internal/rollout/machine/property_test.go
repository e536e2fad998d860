// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/rollout/rollouttest"
)

// maxTurns is more than any attempt of the generated size needs.
const maxTurns = 2000

func TestGroupsAreNeverOvertaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(scenarioGen.Draw(t, "scenario"))
		w.crash = func() bool { return rapid.IntRange(0, 9).Draw(t, "crash") == 0 }
		w.run(t)
	})
}

func TestCrashEndsInTheSameState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scenarioGen.Draw(t, "scenario")
		smooth := newWorld(s)
		smooth.run(t)
		rough := newWorld(s)
		rough.crash = func() bool { return rapid.IntRange(0, 4).Draw(t, "crash") == 0 }
		rough.run(t)

		if got, want := rough.record.Outcome.Phase, smooth.record.Outcome.Phase; got != want {
			t.Fatalf("with crashes the attempt ended %s (%s), without %s (%s)",
				got, rough.record.Outcome.Message, want, smooth.record.Outcome.Message)
		}
		if smooth.record.Outcome.Phase != machine.PhaseSucceeded {
			return
		}
		if diff := cmp.Diff(smooth.shape(), rough.shape()); diff != "" {
			t.Fatalf("crashes change the final state (-without +with):\n%s", diff)
		}
	})
}

// A retry is an attempt of its own: it runs its hooks anew, each once, and overtakes
// nothing.
func TestRetriesRunHooksOncePerAttempt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(scenarioGen.Draw(t, "scenario"))
		w.crash = func() bool { return rapid.IntRange(0, 9).Draw(t, "crash") == 0 }
		w.run(t)
		for w.attempt < 3 && w.record.Outcome.Retry {
			w.retry()
			w.run(t)
		}
	})
}

func TestStopLeavesNoHookRunning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(scenarioGen.Draw(t, "scenario"))
		stopAt := rapid.IntRange(0, 30).Draw(t, "stop at turn")
		superseded := rapid.Bool().Draw(t, "superseded")
		w.crash = func() bool { return rapid.IntRange(0, 19).Draw(t, "crash") == 0 }
		w.before = func(turn int, m *machine.Machine) {
			if turn >= stopAt {
				m.Stop(machine.Stop{Message: "Operation terminated", Superseded: superseded})
			}
		}
		w.run(t)
		for _, u := range w.cluster.Objects() {
			if u.GetAnnotations()[manifest.AnnotationOperation] != w.mark() {
				continue
			}
			if h := health.Of(u); h.Known && h.Status != health.Healthy && h.Status != health.Degraded {
				t.Fatalf("%s is left running: %s %s", manifest.KeyOf(u), h.Status, h.Message)
			}
		}
	})
}

// scenario is an application in words; worlds are built from it.
type scenario struct {
	groups []groupSpec
	// options are the application's.
	options string
}

type groupSpec struct {
	phase manifest.Phase
	wave  int
	steps []stepSpec
}

type stepSpec struct {
	kind, name, fate string
	hook, prune      bool
	// A prune may have to be agreed to; its object may be in use when the plan is made
	// and when its turn comes.
	confirm, risky, deferred, used bool
	generate                       bool
	stale, ttl                     bool
	needs                          string
	policies                       []manifest.DeletePolicy
}

var scenarioGen = rapid.Custom(func(t *rapid.T) scenario {
	var s scenario
	serial := 0
	s.options = rapid.SampledFrom([]string{"", "", "WaveDelay=2s", "HookPolicy=operation", "PendingByDesign=gate"}).Draw(t, "options")
	// Half of the scenarios go well, so that late groups are reached.
	fates := soundFates
	if rapid.Bool().Draw(t, "trouble") {
		fates = allFates
	}
	for _, phase := range []manifest.Phase{manifest.PreSync, manifest.Sync, manifest.PostSync, manifest.SyncFail} {
		waves := rapid.IntRange(0, 2).Draw(t, "waves")
		for wave := range waves {
			g := groupSpec{phase: phase, wave: wave}
			for range rapid.IntRange(1, 4).Draw(t, "steps") {
				serial++
				g.steps = append(g.steps, drawStep(t, phase, serial, fates))
			}
			s.groups = append(s.groups, arrange(g))
		}
	}
	return s
})

var (
	soundFates = rapid.SampledFrom([]string{"ok", "ok@1s", "ok@3s", "ok@90s"})
	allFates   = rapid.SampledFrom([]string{"ok", "ok", "ok@1s", "ok@3s", "ok@90s", "bad@2s", "never", "reject"})
)

func drawStep(t *rapid.T, phase manifest.Phase, serial int, fates *rapid.Generator[string]) stepSpec {
	s := stepSpec{name: fmt.Sprintf("x%d", serial), fate: fates.Draw(t, "fate")}
	if phase != manifest.Sync || rapid.IntRange(0, 4).Draw(t, "hook in Sync") == 0 {
		s.hook = true
		s.kind = rapid.SampledFrom([]string{"Job", "ConfigMap"}).Draw(t, "hook kind")
		s.generate = rapid.Bool().Draw(t, "generateName")
		s.stale = rapid.Bool().Draw(t, "left over from before")
		s.ttl = rapid.Bool().Draw(t, "ttl")
		for _, p := range []manifest.DeletePolicy{manifest.BeforeHookCreation, manifest.HookSucceeded, manifest.HookFailed} {
			if rapid.Bool().Draw(t, string(p)) {
				s.policies = append(s.policies, p)
			}
		}
		return s
	}
	if s.prune = rapid.IntRange(0, 3).Draw(t, "prune") == 0; s.prune {
		s.kind, s.fate = "ConfigMap", rapid.SampledFrom([]string{"ok", "ok@3s"}).Draw(t, "time to go")
		switch rapid.IntRange(0, 4).Draw(t, "doubt") {
		case 0:
			s.confirm, s.risky = true, rapid.Bool().Draw(t, "guarded")
		case 1:
			s.deferred, s.used = rapid.Bool().Draw(t, "used when planned"), rapid.Bool().Draw(t, "used at its turn")
		}
		return s
	}
	s.kind = rapid.SampledFrom([]string{"ConfigMap", "Deployment", "Job", "ExternalSecret"}).Draw(t, "kind")
	return s
}

// arrange puts steps in kind order and lets a Deployment need the Secret of an
// ExternalSecret of its group.
func arrange(g groupSpec) groupSpec {
	var sorted []stepSpec
	external := ""
	for _, kind := range []string{"ConfigMap", "Deployment", "Job", "ExternalSecret"} {
		for _, s := range g.steps {
			if s.kind == kind {
				sorted = append(sorted, s)
				if kind == "ExternalSecret" && !s.hook {
					external = s.name
				}
			}
		}
	}
	for i := range sorted {
		if sorted[i].kind == "Deployment" && !sorted[i].hook {
			sorted[i].needs = external
		}
	}
	g.steps = sorted
	return g
}

func newWorld(s scenario) *world {
	w := emptyWorld()
	w.ended = w.finish
	w.limits = machine.Limits{}.With(manifest.ParseOptions(s.options))
	// Somebody agrees to all prunes after a while.
	agreed := w.start.Add(30 * time.Second)
	w.later = []happening{{30 * time.Second, func() {}}}
	w.check = func(t testRun, a machine.Action) {
		if a.Kind == machine.Delete {
			w.mustBeDeletable(t, a, !w.now.Before(agreed))
			return
		}
		w.mustNotOvertake(t, a)
	}
	w.always = func(m *machine.Machine) {
		m.Users(func(key manifest.Key) (manifest.Key, bool) {
			return manifest.Key{Kind: "Pod", Namespace: key.Namespace, Name: "user"}, w.used[key.Name]
		})
		if !w.now.Before(agreed) {
			m.Confirm()
		}
	}
	var groups []plan.Group
	for _, g := range s.groups {
		var steps []plan.Step
		for _, spec := range g.steps {
			steps = append(steps, w.step(spec))
		}
		groups = append(groups, rollouttest.Group(g.phase, g.wave, steps...))
	}
	w.begin(groups...)
	return w
}

func (w *world) step(spec stepSpec) plan.Step {
	u := rollouttest.Object(spec.kind, spec.name, spec.fate)
	switch {
	case spec.prune:
		u.SetFinalizers([]string{rollouttest.Guard})
		s := rollouttest.Prune(w.cluster.Put(u))
		w.used[spec.name] = spec.used
		s.Yields = spec.used || spec.deferred
		if s.Deferred = spec.deferred; spec.deferred || spec.confirm {
			s.Action, s.Confirm = plan.SkipPrune, spec.confirm
		}
		if spec.risky {
			s.Risk = "much would be lost"
		}
		return s
	case spec.hook:
		if spec.ttl {
			u.SetAnnotations(map[string]string{rollouttest.AnnotationFate: spec.fate, rollouttest.AnnotationTTL: "2s"})
		}
		if spec.generate {
			u.SetGenerateName(u.GetName() + "-")
			u.SetName("")
		} else if spec.stale {
			old := rollouttest.Object(spec.kind, spec.name, "ok")
			old.SetFinalizers([]string{manifest.HookFinalizer})
			old.SetAnnotations(map[string]string{manifest.AnnotationOperation: "op-6/1"})
			w.cluster.Put(old)
		}
		return rollouttest.Hook(u, spec.policies...)
	case spec.needs != "":
		return rollouttest.Needing(rollouttest.Step(u), spec.needs)
	}
	return rollouttest.Step(u)
}

// mustBeDeletable checks that nothing is pruned that is in use, or that nobody has
// agreed to.
func (w *world) mustBeDeletable(t testRun, a machine.Action, agreed bool) {
	for _, g := range w.plan.Groups {
		for _, s := range g.Steps {
			switch {
			case s.ID != a.Step, s.Action == plan.Hook:
			case w.used[s.Key.Name]:
				t.Fatalf("%s is pruned while something uses it", s.ID)
			case s.Confirm && !agreed:
				t.Fatalf("%s is pruned before anybody has agreed", s.ID)
			}
		}
	}
}

// mustNotOvertake checks that everything of every earlier group is in place.
func (w *world) mustNotOvertake(t testRun, a machine.Action) {
	for _, g := range w.plan.Groups {
		for _, s := range g.Steps {
			if s.ID == a.Step {
				return
			}
		}
		if g.Phase == manifest.SyncFail {
			continue
		}
		for i := range g.Steps {
			w.mustBePassed(t, a, &g.Steps[i])
		}
	}
}

func (w *world) mustBePassed(t testRun, a machine.Action, s *plan.Step) {
	if w.failing(a) {
		return
	}
	key := s.Key
	key.Name = machine.HookName("op-7", s)
	live, exists := w.cluster.Get(key)
	switch {
	case s.Action == plan.Prune, s.Action == plan.SkipPrune:
		if exists && !w.used[s.Key.Name] {
			t.Fatalf("%s is written while %s of an earlier group has not been pruned", a.Step, s.ID)
		}
	case !w.written[s.ID]:
		t.Fatalf("%s is written before %s of an earlier group", a.Step, s.ID)
	case !exists && s.Object.GetAnnotations()[rollouttest.AnnotationTTL] != "":
	case !exists:
		t.Fatalf("%s is written while %s of an earlier group does not exist", a.Step, s.ID)
	default:
		if h := health.Of(live); h.Known && h.Status != health.Healthy {
			t.Fatalf("%s is written while %s of an earlier group is %s", a.Step, s.ID, h.Status)
		}
	}
}

// failing reports whether the action belongs to the hooks that run after a
// failure.
func (w *world) failing(a machine.Action) bool {
	for _, g := range w.plan.Groups {
		for _, s := range g.Steps {
			if s.ID == a.Step {
				return g.Phase == manifest.SyncFail
			}
		}
	}
	return false
}

// finish checks what holds at the end of every attempt.
func (w *world) finish(t testRun) {
	created := map[manifest.Key]int{}
	for _, c := range w.cluster.Writes() {
		if c.Verb == "create" && c.Err == nil && c.Mark == w.mark() {
			created[c.Key]++
		}
	}
	for key, n := range created {
		if n > 1 {
			t.Fatalf("hook %s was created %d times in one attempt", key, n)
		}
	}
	for _, u := range w.cluster.Objects() {
		if len(u.GetFinalizers()) > 0 && u.GetAnnotations()[manifest.AnnotationOperation] == w.mark() {
			t.Fatalf("%s is still held by %v", manifest.KeyOf(u), u.GetFinalizers())
		}
	}
	for _, g := range w.plan.Groups {
		for _, s := range g.Steps {
			_, there := w.cluster.Get(s.Key)
			if prune := s.Action == plan.Prune || s.Action == plan.SkipPrune; prune && w.record.Outcome.Phase == machine.PhaseSucceeded && there != w.used[s.Key.Name] {
				if live, _ := w.cluster.Get(s.Key); !there || live.GetDeletionTimestamp() == nil {
					t.Fatalf("after the attempt %s is there: %t, used: %t", s.ID, there, w.used[s.Key.Name])
				}
			}
		}
	}
	for _, r := range machine.Results(w.plan, w.record) {
		if w.record.Outcome.Phase == machine.PhaseSucceeded && r.HookPhase != "Succeeded" {
			t.Fatalf("the attempt succeeded, %s is %s", r.Key, r.HookPhase)
		}
	}
}

// shape is the final state without what differs between any two runs. What is under way
// ends before: the last group is not waited for, and a run that crashes takes longer.
func (w *world) shape() []string {
	for range maxTurns {
		at, more := w.cluster.NextAt()
		if !more {
			break
		}
		w.cluster.Tick(at)
	}
	var out []string
	for _, u := range w.cluster.Objects() {
		if u.GetAnnotations()[rollouttest.AnnotationTTL] != "" {
			continue
		}
		h := health.Of(u)
		out = append(out, fmt.Sprintf("%s %s %v %v", manifest.KeyOf(u), h.Status, u.GetAnnotations(), u.GetFinalizers()))
	}
	return out
}
