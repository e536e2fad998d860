// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// gates looks at everything of the group that has been written and settles what
// can be settled. A failure counts once no hook of the group runs any more.
func (t *turn) gates(g *group) verdict {
	gated := !t.last(g)
	running, waiting, failed := false, false, false
	for _, task := range g.tasks {
		switch t.record(task).State {
		case Pruning:
			waiting = t.goneGate(task, gated) || waiting
		case Applied:
			if task.hook() {
				running = t.hookGate(task) || running
			} else {
				waiting = t.healthGate(task, gated) || waiting
			}
		}
		failed = failed || t.record(task).State == Failed
	}
	switch {
	case running:
		return busy
	case failed:
		return broken
	case waiting:
		return busy
	}
	return passed
}

// goneGate reports whether the group has to wait for a prune.
func (t *turn) goneGate(task *task, gated bool) bool {
	o := t.observe(task.key)
	switch {
	case !o.Exists:
		t.settle(task, Pruned, "pruned")
	case o.Deleting && !gated && !t.limits.AwaitGone:
		t.settle(task, Pruned, "pruned")
	default:
		t.await(task, deletion, task.key, o)
		if over := t.patience(task, o, health.Flaps(task.key.GroupKind())); over != "" {
			t.fault(task, "waiting for deletion: "+over, nil)
			return false
		}
		return true
	}
	return false
}

// hookGate reads the hook's result from its health; it reports whether the hook
// is running.
func (t *turn) hookGate(task *task) bool {
	s, o := t.record(task), t.observe(task.key)
	if !o.Exists || o.UID != s.UID {
		t.edit(task).Held = false
		t.edit(task).Retry = true
		t.settle(task, Failed, goneHook)
		return false
	}
	if o.olderThan(s) {
		t.await(task, completion, task.key, o)
		return true
	}
	if state, message := hookResult(task.key, o); state != Applied {
		t.edit(task).Retry = state == Failed
		t.settle(task, state, task.gate.overdue(o, message))
		return false
	}
	if o.Deleting {
		// The Job controller does not go on with a deleted Job: a result can come
		// only from what already happened.
		begin(&task.gate.gone, t.now)
		if end := task.gate.gone.Add(t.limits.HookGone); t.now.Before(end) {
			t.wake(end)
			t.await(task, completion, task.key, o)
			return true
		}
		t.edit(task).Retry = true
		t.settle(task, Failed, goneHook)
		return false
	}
	t.await(task, completion, task.key, o)
	if over := t.patience(task, o, health.Flaps(task.key.GroupKind())); over != "" {
		t.edit(task).Drop = true
		t.fault(task, over, nil)
		return false
	}
	return true
}

const goneHook = "deleted by someone else, result unknown"

// hookResult is what a hook's health says about its result: Applied while it
// runs.
func hookResult(key manifest.Key, o Observation) (State, string) {
	switch {
	case !o.Health.Known, o.Health.Status == health.Missing:
		return Succeeded, created(key)
	case o.Health.Status == health.Healthy:
		return Succeeded, o.Health.Message
	case o.Health.Status == health.Degraded, o.Health.Status == health.Unknown:
		message := o.Health.Message
		if message == "" {
			message = o.reason()
		}
		return Failed, message
	}
	return Applied, ""
}

// healthGate settles an ordinary object; it reports whether the group has to
// wait for it.
func (t *turn) healthGate(task *task, gated bool) bool {
	s, o := t.record(task), t.observe(task.key)
	switch {
	case !gated && (!o.Exists || !o.olderThan(s)):
		t.settle(task, Succeeded, "")
		return false
	case !o.Exists, o.UID != s.UID:
		t.edit(task).Rejected = true
		t.fault(task, fmt.Sprintf("Resource %s is missing, it might have been deleted", title(task.key)), nil)
		return false
	case o.olderThan(s):
		t.await(task, healthy, task.key, o)
		return true
	case !o.Deleting && (!o.Health.Known || o.Health.Status == health.Healthy):
		t.settle(task, Succeeded, "")
		return false
	}
	t.await(task, healthy, task.key, o)
	if t.excused(task, o) {
		return false
	}
	if over := t.patience(task, o, health.Flaps(task.key.GroupKind())); over != "" {
		t.fault(task, over, nil)
		return false
	}
	return true
}

// excused settles an object that is pending by design, or an Ingress that got no
// address in time.
func (t *turn) excused(task *task, o Observation) bool {
	if o.Deleting || o.Health.Status != health.Progressing || t.limits.PendingGates || has(task.step, pendingGates) {
		return false
	}
	if !o.Health.ByDesign {
		if task.key.Kind != "Ingress" {
			return false
		}
		if end := task.gate.since.Add(t.limits.IngressAddress); t.now.Before(end) {
			t.wake(end)
			return false
		}
	}
	t.waits = t.waits[:len(t.waits)-1]
	t.settle(task, Succeeded, join(t.record(task).Message, "not waited for: "+o.reason()))
	return true
}

// effect reports whether a Secret that the task needs is there as its producer
// makes it now.
func (t *turn) effect(task *task, need *plan.Effect) verdict {
	secret, maker := t.observe(need.Object), t.observe(need.Producer)
	missing := missingEffect(need, secret)
	if missing == "" {
		producer := t.byID[need.ByStep]
		if producer == nil || producer.step.Action == plan.None || maker.Processed != Behind {
			return passed
		}
		missing = "it has not been brought up to date yet"
	}
	t.waits = append(t.waits, waiting{
		task: task, kind: forEffect, object: need.Producer, effect: need.Object,
		reason: effectReason(maker, missing), alarming: maker.Blocked != "" || maker.Health.Status == health.Degraded,
	})
	if over := t.patience(task, maker, true); over != "" {
		t.edit(task).Rejected = true
		t.fault(task, fmt.Sprintf("not applied, %s of %s is needed: %s",
			need.Object.Short(), need.Producer.Short(), effectReason(maker, missing)), &need.Producer)
		return broken
	}
	return busy
}

// outside reports whether an object that others bring is there, as well as it can be.
func (t *turn) outside(task *task, key *manifest.Key) verdict {
	o := t.observe(*key)
	reason := absence(o)
	if reason == "" {
		return passed
	}
	t.waits = append(t.waits, waiting{
		task: task, kind: fromOutside, object: *key, reason: reason, alarming: o.Blocked != "" || o.Health.Status == health.Degraded,
	})
	if over := t.patience(task, o, true); over != "" {
		t.edit(task).Rejected = true
		t.fault(task, fmt.Sprintf("not applied, %s is needed, which others bring: %s", place(*key), over), key)
		return broken
	}
	return busy
}

// absence says why an object is of no use yet, nothing if it is.
func absence(o Observation) string {
	switch {
	case !o.Exists:
		return "it does not exist yet"
	case o.Deleting:
		return "it is being deleted"
	case !o.Health.Known, o.Health.Status == health.Healthy, o.Health.ByDesign:
		return ""
	}
	if own := o.reason(); own != "" {
		return own
	}
	return "it is " + string(o.Health.Status)
}

// place names an object of any namespace.
func place(k manifest.Key) string {
	name := k.Short()
	if k.Group != "" {
		name = title(k)
	}
	if k.Namespace == "" {
		return name
	}
	return name + " in namespace " + k.Namespace
}

// missingEffect says what is missing about the Secret, nothing if it is usable.
func missingEffect(need *plan.Effect, secret Observation) string {
	if !secret.Exists || secret.Deleting {
		return "it does not exist yet"
	}
	for _, k := range need.Keys {
		if !slices.Contains(secret.Keys, k) {
			return fmt.Sprintf("it lacks the key %q", k)
		}
	}
	return ""
}

func effectReason(maker Observation, missing string) string {
	if maker.Health.Status == health.Healthy {
		return missing
	}
	if own := maker.reason(); own != "" {
		return own
	}
	return missing
}

// patience reports why the task's wait on o is over, or nothing and asks to be
// woken when it will be. Flaps says that the object may be Degraded for a while.
func (t *turn) patience(task *task, o Observation, flaps bool) string {
	g := &task.gate
	begin(&g.since, t.now)
	if g.moved.IsZero() || o.Busy || o.Progress != g.token {
		g.moved, g.token = t.now, o.Progress
	}
	if over := t.degraded(task, o, flaps); over != "" {
		return over
	}
	limit, own := ownDuration(task.step, "GateTimeout")
	if !own {
		limit = t.limits.NoProgress
	}
	end, stuck := g.moved.Add(limit), o.Stuck && !own
	track(&g.stuck, stuck, t.now)
	if stuck {
		if e := g.stuck.Add(t.limits.Stuck); e.Before(end) {
			end, limit = e, t.limits.Stuck
		}
	}
	if !t.now.Before(end) {
		return join(fmt.Sprintf("no progress for %s", limit), o.reason())
	}
	t.wake(end)
	return ""
}

// degraded reports the object's verdict on itself once it counts: at once, or
// after a grace for what flaps by nature.
func (t *turn) degraded(task *task, o Observation, flaps bool) string {
	counts := o.Health.Status == health.Degraded && !o.Deleting
	track(&task.gate.degraded, counts, t.now)
	if !counts {
		return ""
	}
	grace, own := ownDuration(task.step, "GateGrace")
	if flaps && !own {
		grace = t.limits.FlapGrace
	}
	if end := task.gate.degraded.Add(grace); t.now.Before(end) {
		t.wake(end)
		return ""
	}
	return task.gate.overdue(o, o.reason())
}

// overdue adds to a verdict that says only that time is up what took the time.
func (g *gate) overdue(o Observation, verdict string) string {
	if !timeIsUp(o) || g.blocked == "" || strings.Contains(verdict, g.blocked) {
		return verdict
	}
	return join(verdict, "until then: "+g.blocked)
}

// timeIsUp reports whether an object has run, or is just running, into a deadline of
// its own: what is said of it from then on is no reason.
func timeIsUp(o Observation) bool {
	return o.Health.Reason == "DeadlineExceeded" || o.Health.Reason == "ProgressDeadlineExceeded"
}

// ownDuration is what the object says itself about a wait for it, with a sync
// option.
func ownDuration(s *plan.Step, option string) (time.Duration, bool) {
	if s.Object == nil {
		return 0, false
	}
	return duration(manifest.SyncOptions(s.Object.Unstructured), option)
}

func duration(options manifest.OptionSet, name string) (time.Duration, bool) {
	value, ok := options.Value(name)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(value)
	return d, err == nil && d > 0
}

// begin sets a time that has not been set.
func begin(at *time.Time, now time.Time) { track(at, true, now) }

// track keeps the time since which a condition holds.
func track(at *time.Time, holds bool, now time.Time) {
	switch {
	case !holds:
		*at = time.Time{}
	case at.IsZero():
		*at = now
	}
}
