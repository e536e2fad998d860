// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/plan"
)

// deletions issues the group's prunes and clears the names of its hooks. It
// reports whether creations have to wait: for the calls to be made, for an old
// hook to be gone, or for a person to confirm a prune, before which nothing of
// the group is done. Prunes are awaited by the gates only.
func (t *turn) deletions(g *group) bool {
	hold := false
	for _, task := range t.questions(g) {
		t.await(task, confirmation, task.key, Observation{Blocked: task.step.Risk})
		hold = true
	}
	if hold {
		return true
	}
	for _, task := range g.tasks {
		switch {
		case task.step.Action == plan.SkipPrune && !task.step.Confirm && !task.step.Yields:
			if t.record(task).State == Pending {
				t.settle(task, Skipped, task.step.Reason)
			}
		case task.prunes():
			hold = t.prune(task) || hold
		case task.hook():
			hold = t.clear(task) || hold
		}
	}
	return hold
}

// questions returns the prunes that a person has to confirm before the group
// begins: its own, and, if it prunes anything, every guarded one of later groups,
// because then it would be too late to keep what the guard is about.
func (t *turn) questions(g *group) []*task {
	var asked []*task
	prunes := false
	for _, task := range g.tasks {
		prunes = prunes || task.step.Action == plan.Prune || task.step.Confirm
		if t.unconfirmed(task) {
			asked = append(asked, task)
		}
	}
	for i := range t.groups {
		for _, task := range t.groups[i].tasks {
			if prunes && t.groups[i].number > g.number && task.step.Risk != "" && t.unconfirmed(task) {
				asked = append(asked, task)
			}
		}
	}
	return asked
}

// prune moves one prune on; it reports whether a deletion was issued.
func (t *turn) prune(task *task) bool {
	s := t.record(task)
	if s.State.Done() || s.State == Pending && t.yields(task) {
		return false
	}
	o := t.observe(task.key)
	want := preconditionUID(task.step)
	switch {
	case !o.Exists:
		t.settle(task, Pruned, "pruned")
	case want != "" && o.UID != want:
		t.settle(task, Skipped, "ignored (created again by someone else)")
	case o.Deleting:
		task.sent = true
		t.edit(task).State = Pruning
	case !task.sent:
		t.edit(task).State = Pruning
		t.out.Save = true
		t.act(task, Action{Kind: Delete, UID: o.UID})
		return true
	}
	return false
}

// yields puts a prune off whose object something uses, now that its turn has come;
// it reports whether it did. A prune that was put off when the plan was made stays
// so if nobody can be asked.
func (t *turn) yields(task *task) bool {
	if !task.step.Yields || !t.observe(task.key).Exists {
		return false
	}
	reason := task.step.Reason
	if t.users == nil {
		if !task.step.Deferred {
			return false
		}
	} else {
		user, used := t.users(task.key)
		if !used {
			return false
		}
		reason = "deferred: still used by " + user.Short()
	}
	t.edit(task).Deferred = true
	t.settle(task, Skipped, reason)
	return true
}

// clear makes room for a hook that has not been created in this attempt: any
// object of its name is deleted, whatever the hook's policies, because a hook
// runs exactly once per attempt. It reports whether the name is still taken.
func (t *turn) clear(task *task) bool {
	s := t.record(task)
	if s.State != Pending && s.State != Clearing && s.State != Creating {
		return false
	}
	o := t.observe(task.key)
	if !o.Exists {
		return false
	}
	if s.State == Creating && o.Mark == t.rec.Mark() {
		// Our own creation, whose answer got lost in a crash.
		e := t.edit(task)
		e.State, e.Held, e.Message = Applied, o.Held, created(task.key)
		e.UID, e.ResourceVersion, e.Generation = o.UID, o.ResourceVersion, o.Generation
		return false
	}
	t.edit(task).State = Clearing
	if !task.sent {
		t.out.Save = true
		t.act(task, Action{Kind: Delete, UID: o.UID, Release: true})
		return true
	}
	t.await(task, deletion, task.key, o)
	return true
}

// creations issues the next batch of the group that can be written. Held says
// that nothing can be written because a task waits for an effect that it needs.
func (t *turn) creations(g *group) (issued, held bool) {
	for _, batch := range g.batches {
		ready, waits := t.divide(batch)
		for _, task := range ready {
			t.create(task)
		}
		if len(ready) > 0 || waits {
			return len(ready) > 0, waits
		}
	}
	return false, false
}

// divide returns the tasks of a batch that can be written now, and whether
// others are held back by something that may still come.
func (t *turn) divide(batch []*task) (ready []*task, held bool) {
	for _, task := range batch {
		s := t.record(task).State
		if s != Pending && s != Clearing && s != Creating {
			continue
		}
		switch t.needs(task) {
		case passed:
			ready = append(ready, task)
		case busy:
			held = true
		case broken:
		}
	}
	return ready, held
}

func (t *turn) create(task *task) {
	if !task.hook() {
		t.act(task, Action{Kind: Apply, Object: task.step.Object.Unstructured})
		return
	}
	t.edit(task).State = Creating
	task.sent = false
	t.out.Save = true
	t.act(task, Action{Kind: CreateHook, Object: t.hookObject(task)})
}

// needs reports whether what the task must follow is there, may still come, or
// cannot come any more.
func (t *turn) needs(task *task) verdict {
	for _, id := range predecessors(task.step) {
		if v := t.followed(task, t.byID[id]); v != passed {
			return v
		}
	}
	for i := range task.step.Needs {
		if v := t.effect(task, &task.step.Needs[i]); v != passed {
			return v
		}
	}
	for i := range task.step.Outside {
		if v := t.outside(task, &task.step.Outside[i]); v != passed {
			return v
		}
	}
	return passed
}

// followed reports whether the step that task must follow has been applied.
func (t *turn) followed(task, before *task) verdict {
	switch {
	case before == nil, before.group == task.group && before.place >= task.place:
		// Not part of this plan, or the step that closes a cycle.
		return passed
	case t.record(before).State == Failed:
		return broken
	case t.record(before).State.written():
		return passed
	case t.needs(before) == broken:
		return broken
	}
	return busy
}

func preconditionUID(s *plan.Step) types.UID {
	uid, _ := strings.CutPrefix(s.Precondition, "uid:")
	if uid == s.Precondition {
		return ""
	}
	return types.UID(uid)
}
