// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// maxReasons bounds how many failed objects a message names.
const maxReasons = 3

// failGroup notes why the attempt fails.
func (t *turn) failGroup(g *group) {
	f := Failure{Message: "one or more synchronization tasks completed unsuccessfully"}
	var reasons []string
	for _, task := range g.tasks {
		s := t.record(task)
		if s.State != Failed {
			continue
		}
		if s.Rejected {
			f.Message = "one or more objects failed to apply"
		}
		reasons = append(reasons, reasonOf(task, s))
		f.Retry = f.Retry || s.Retry
		if !s.Retry {
			f.Causes = append(f.Causes, causeOf(task, s))
		}
	}
	f.Message += ", reason: " + bounded(reasons)
	slices.SortFunc(f.Causes, manifest.Key.Compare)
	f.Causes = slices.Compact(f.Causes)
	t.rec.Failure = &f
	t.out.Save = true
}

func reasonOf(task *task, s *StepRecord) string {
	if s.Message == "" {
		return title(task.key) + " failed"
	}
	return title(task.key) + ": " + oneLine(s.Message)
}

func causeOf(task *task, s *StepRecord) manifest.Key {
	if s.Cause != nil {
		return *s.Cause
	}
	return task.key
}

func bounded(reasons []string) string {
	if over := len(reasons) - maxReasons; over > 0 {
		return strings.Join(reasons[:maxReasons], "; ") + fmt.Sprintf("; and %d more", over)
	}
	return strings.Join(reasons, "; ")
}

// fail runs the SyncFail hooks, all of them whatever their waves, and ends the
// attempt.
func (t *turn) fail() {
	f := t.rec.Failure
	message := f.Message
	if g := &t.onFailure; len(g.tasks) > 0 && !t.complete(g) {
		if !t.failing {
			t.failing = true
			t.tell(g, event.Event{Type: event.GroupStarted})
		}
		switch t.work(g) {
		case busy:
			return
		case broken:
			message += "; one or more SyncFail hooks failed, reason: " + t.failures(g)
		case passed:
		}
	}
	t.finish(Outcome{Phase: PhaseFailed, Message: message, Causes: f.Causes, Retry: f.Retry}, t.now)
}

func (t *turn) failures(g *group) string {
	var reasons []string
	for _, task := range g.tasks {
		if s := t.record(task); s.State == Failed {
			reasons = append(reasons, reasonOf(task, s))
		}
	}
	return bounded(reasons)
}

// stop ends the attempt early. Hooks that have ended keep their result, running
// ones are deleted; ordinary objects stay as they are.
func (t *turn) stop() {
	s := t.rec.Stop
	for id, task := range t.byID {
		if !task.hook() {
			continue
		}
		switch r := t.record(task); r.State {
		case Clearing:
			delete(t.rec.Steps, id)
		case Creating, Applied:
			t.stopHook(task)
		}
	}
	t.finish(Outcome{
		Phase: PhaseFailed, Message: s.Message, Terminated: !s.Superseded, Superseded: s.Superseded,
	}, t.now)
}

func (t *turn) stopHook(task *task) {
	s, o := t.edit(task), t.observe(task.key)
	if s.State == Creating {
		if !o.Exists || o.Mark != t.rec.Mark() {
			delete(t.rec.Steps, task.step.ID)
			return
		}
		s.UID, s.Held = o.UID, o.Held
	}
	state, message := Applied, ""
	if o.Exists && o.UID == s.UID && !o.olderThan(s) {
		state, message = hookResult(task.key, o)
	}
	if state == Applied {
		s.State, s.Message = Failed, "Terminated"
		s.Drop = o.Exists && o.UID == s.UID
		return
	}
	s.State, s.Message = state, message
}

// finish ends the attempt. Hooks whose policy asks for it are marked for
// deletion by their own result, or by the operation's where that is wanted; the
// record says so before it happens.
func (m *Machine) finish(o Outcome, now time.Time) {
	for id, s := range m.rec.Steps {
		t := m.byID[id]
		if t == nil || !t.hook() || s.UID == "" {
			continue
		}
		succeeded, failed := s.State == Succeeded, s.State == Failed
		if m.limits.HookPolicyOfOperation || has(t.step, hookPolicyOfOperation) {
			ended := succeeded || failed
			succeeded, failed = ended && o.Phase == PhaseSucceeded, ended && o.Phase != PhaseSucceeded
		}
		wants := func(p manifest.DeletePolicy) bool { return slices.Contains(t.step.Policies, p) }
		if succeeded && wants(manifest.HookSucceeded) || failed && wants(manifest.HookFailed) {
			s.Drop = true
		}
	}
	m.rec.Outcome, m.rec.FinishedAt, m.rec.Wait = &o, now, nil
}

// tidy deletes and releases hooks after the outcome, then says that all is done.
func (t *turn) tidy() {
	t.out.Save = true
	t.out.Actions = slices.DeleteFunc(t.out.Actions, func(a Action) bool { return a.Kind == Release })
	for _, id := range t.rec.stepIDs() {
		s := t.rec.Steps[id]
		a := Action{Step: id, Key: s.Key}
		if task := t.byID[id]; task != nil {
			a.Version = task.step.Version
		}
		switch {
		case s.Drop:
			a.Kind, a.UID, a.Release = Delete, s.UID, true
		case s.Held:
			a.Kind = Release
		default:
			continue
		}
		t.out.Actions = append(t.out.Actions, a)
	}
	if len(t.out.Actions) == 0 && !t.finished {
		t.finished = true
		t.news = append(t.news, event.Event{
			Type: event.OperationFinished, Groups: len(t.groups), Message: t.rec.Outcome.Message,
		})
	}
	t.out.Finished = len(t.out.Actions) == 0
}
