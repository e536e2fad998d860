// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"slices"
	"time"

	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// turn is one question to the machine.
type turn struct {
	*Machine
	observe Observer
	now     time.Time
	out     Decision
	waits   []waiting
}

// Next decides what to do now. All actions of the decision are to be carried
// out and reported before Next is called again; a decision without actions
// means waiting for a change or for WakeAt.
func (m *Machine) Next(observe Observer, now time.Time) Decision {
	t := &turn{Machine: m, observe: observe, now: now}
	t.run()
	t.settleWait()
	t.out.Events, t.news = t.news, nil
	return t.out
}

func (t *turn) run() {
	if t.rec.Outcome == nil && t.rec.Stop != nil && (!t.rec.Stop.Superseded || len(t.rec.Steps) == 0) {
		t.stop()
	}
	if t.rec.Outcome == nil && t.rec.Failure == nil {
		t.advance()
	}
	if t.rec.Outcome == nil && t.rec.Failure != nil {
		t.fail()
	}
	if t.rec.Outcome == nil && t.rec.Stop != nil && len(t.out.Actions) == 0 {
		t.stop()
	}
	if t.rec.Outcome != nil {
		t.tidy()
	}
}

// advance passes groups until one is busy or has failed.
func (t *turn) advance() {
	for t.current < len(t.groups) {
		g := &t.groups[t.current]
		if !t.complete(g) {
			if t.now.Before(t.opens) {
				t.wake(t.opens)
				return
			}
			t.announce(g)
			switch t.work(g) {
			case busy:
				return
			case broken:
				t.failGroup(g)
				return
			case passed:
			}
			t.out.Advanced = true
			t.out.Save = t.out.Save || !g.repeatable()
			t.release(g)
			t.tell(g, event.Event{Type: event.GroupPassed})
			t.time(g)
			t.opens = t.now.Add(t.limits.WaveDelay)
		}
		t.current++
	}
	t.finish(Outcome{Phase: PhaseSucceeded, Message: "successfully synced (all tasks run)"}, t.now)
}

// repeatable reports whether nothing is lost when it is forgotten that the group was
// passed: its objects say themselves whose they are, and to apply them once more
// changes nothing.
func (g *group) repeatable() bool {
	return !slices.ContainsFunc(g.tasks, func(t *task) bool {
		if t.step.Object == nil || t.hook() || t.prunes() || t.step.Untracked {
			return true
		}
		_, defines := manifest.DefinesKind(t.step.Object.Unstructured)
		return defines
	})
}

// complete reports whether the record says that g was passed: then it is not
// looked at again.
func (t *turn) complete(g *group) bool {
	for _, task := range g.tasks {
		if s := t.record(task); !s.State.Done() || s.State == Failed {
			return false
		}
	}
	return true
}

func (t *turn) announce(g *group) {
	if g.number > t.announced {
		t.announced, g.began = g.number, t.now
		t.tell(g, event.Event{Type: event.GroupStarted})
	}
}

// time notes how long a group took. After a restart its beginning is not known; the
// last one is not waited for, unless for its hooks.
func (t *turn) time(g *group) {
	const worthKnowing = 100 * time.Millisecond
	if g.began.IsZero() || t.last(g) && !slices.ContainsFunc(g.tasks, (*task).hook) {
		return
	}
	if took := t.now.Sub(g.began); took >= worthKnowing {
		t.rec.Took = append(t.rec.Took, GroupTime{Phase: g.phase, Wave: g.wave, Took: took, Last: g.last})
	}
}

// verdict is where a group stands.
type verdict int

const (
	busy verdict = iota
	passed
	broken
)

// work does what can be done for a group now.
func (t *turn) work(g *group) verdict {
	if t.deletions(g) {
		return busy
	}
	issued, held := t.creations(g)
	if issued {
		return busy
	}
	v := t.gates(g)
	if held && v == passed {
		return busy
	}
	return v
}

// release takes the finalizer off the hooks of a group whose results are in the
// record that is written before.
func (t *turn) release(g *group) {
	for _, task := range g.tasks {
		s := t.record(task)
		if task.hook() && s.State.Done() && s.Held && !s.Drop {
			t.act(task, Action{Kind: Release})
		}
	}
}

// act adds an action on the task's object to the decision.
func (t *turn) act(task *task, a Action) {
	a.Step, a.Key, a.Version = task.step.ID, task.key, task.step.Version
	t.out.Actions = append(t.out.Actions, a)
}

// settle records the end of a task and tells it.
func (t *turn) settle(task *task, state State, message string) {
	s := t.edit(task)
	s.State, task.group.last = state, task.key.Short()
	// Nothing is compared with our write any more; a record is as small as it can be.
	s.ResourceVersion, s.Generation = "", 0
	if message != "" {
		s.Message = message
	}
	kind := event.StepSucceeded
	switch state {
	case Failed:
		kind = event.StepFailed
	case Pruned:
		kind = event.StepPruned
	}
	t.tell(task.group, event.Event{Type: kind, Object: task.key, Message: s.Message})
}

// fault records that a task failed because of something outside of the plan:
// the object cause, the task's own if nil.
func (t *turn) fault(task *task, message string, cause *manifest.Key) {
	t.edit(task).Cause = cause
	t.settle(task, Failed, message)
}

// wake asks to be called again at the given time.
func (t *turn) wake(at time.Time) {
	if t.out.WakeAt.IsZero() || at.Before(t.out.WakeAt) {
		t.out.WakeAt = at
	}
}
