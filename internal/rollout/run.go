// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// Run is an operation in progress.
type Run struct {
	driver  *Driver
	cluster Cluster
	op      Operation
	index   index
	limits  machine.Limits
	cancel  context.CancelFunc
	done    chan struct{}
	// begun is closed when the run has made its first call, whose turn may be long in
	// coming.
	begun chan struct{}
	// wake holds at most one token: something of interest has changed.
	wake chan struct{}
	// stop is closed when an end was asked for; it ends waits for a retry.
	stop chan struct{}
	// turn is the operation's place among those of the cluster.
	turn turn

	// asking is true while the run waits for a person.
	asking atomic.Bool

	interest interest
	hints    hints
	views    views
	// late are kinds that others bring and that were not served yet, lateAsked is when
	// that was looked at last.
	late      []schema.GroupKind
	lateAsked time.Time

	// mu guards what follows.
	mu      sync.Mutex
	machine *machine.Machine
	record  machine.Record
	begunAt time.Time
	state   State
	outcome Outcome
	// trouble is a transient error that an action is being retried for.
	trouble trouble
	// drifted are objects to be applied once more.
	drifted []manifest.Key
	// untried are the steps that a dry run could tell nothing about, with the reason.
	untried map[string]string
}

// Outcome is how a run ended.
type Outcome struct {
	machine.Outcome
	// Abandoned runs have no outcome: the attempt is to be continued.
	Abandoned bool
	// Err is why a run was abandoned, nil if it was asked to: ErrConflict when
	// somebody else took over.
	Err error
}

// Snapshot is where a run stands.
type Snapshot struct {
	Operation string
	Attempt   int
	StartedAt time.Time
	// Begun is when this process made the first call for it, zero while it waits for
	// its turn.
	Begun time.Time
	// Group and Groups count from 1: "2 of 5".
	Group, Groups int
	// Message is what to show as the operation's message.
	Message string
	// Wait is what the run waits for, nil if it is at work.
	Wait *machine.Wait
	// Waits is true while the run does not get on: it waits, or tries again.
	Waits   bool
	Results []machine.StepResult
	// Outcome is nil while the attempt is in progress.
	Outcome *machine.Outcome
}

func (d *Driver) newRun(op Operation) *Run {
	r := &Run{
		driver: d, cluster: d.cluster, op: op, limits: d.opts.Limits, index: newIndex(op.Plan, op.ID),
		done: make(chan struct{}), begun: make(chan struct{}), wake: make(chan struct{}, 1), stop: make(chan struct{}),
		turn:  d.opts.Queue.begin(op.Automated),
		state: op.State,
	}
	if op.Limits != nil {
		r.limits = *op.Limits
	}
	r.limits = r.limits.WithDefaults()
	if r.op.Propagation == "" {
		r.op.Propagation = metav1.DeletePropagationForeground
	}
	if rec := op.State.Operation; rec != nil && rec.Operation == op.ID && rec.Attempt == op.Attempt && rec.Resumable(op.Plan) {
		r.record = rec.Clone()
	} else {
		r.record = machine.NewRecord(op.ID, op.Attempt, op.Plan, d.opts.Clock.Now())
		r.state = r.state.begin(r.record.Clone())
	}
	r.machine = machine.New(op.Plan, r.record, r.limits)
	if op.Confirmed {
		r.machine.Confirm()
	}
	return r
}

// Done is closed when the run has ended.
func (r *Run) Done() <-chan struct{} { return r.done }

// Begun is closed when the run's turn has come.
func (r *Run) Begun() <-chan struct{} { return r.begun }

// began notes that the run's turn has come.
func (r *Run) began() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begunAt.IsZero() {
		r.begunAt = r.driver.opts.Clock.Now()
		close(r.begun)
	}
}

// Outcome returns how the run ended; it is only valid once Done is closed.
func (r *Run) Outcome() Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcome
}

// State returns the state as it was last handed to the store.
func (r *Run) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// Terminate ends the attempt at a person's request: running hooks are deleted,
// ordinary objects stay.
func (r *Run) Terminate(message string) {
	if message == "" {
		message = "Operation terminated"
	}
	r.end(machine.Stop{Message: message})
}

// Supersede ends the attempt in favour of a newer release, as soon as it has
// nothing left to write in its present group.
func (r *Run) Supersede(message string) {
	r.end(machine.Stop{Message: message, Superseded: true})
}

// Confirm allows the prunes that need a confirmation.
func (r *Run) Confirm() {
	r.mu.Lock()
	r.machine.Confirm()
	r.mu.Unlock()
	r.nudge()
}

// Reconsider has the run look again at what it waits for, though nothing has
// changed on the cluster: what judges objects may have.
func (r *Run) Reconsider() {
	r.views.forget()
	r.nudge()
}

func (r *Run) end(s machine.Stop) {
	r.mu.Lock()
	r.machine.Stop(s)
	// Before anything of the plan was written, nobody has to be waited for.
	if !s.Superseded || len(r.record.Steps) == 0 {
		select {
		case <-r.stop:
		default:
			close(r.stop)
		}
	}
	r.mu.Unlock()
	r.nudge()
}

// Abandon stops the run where it stands; the attempt can be continued.
func (r *Run) Abandon() { r.cancel() }

// Snapshot returns where the run stands.
func (r *Run) Snapshot() Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Snapshot{
		Operation: r.record.Operation, Attempt: r.record.Attempt, StartedAt: r.record.StartedAt, Begun: r.begunAt,
		Wait: r.record.Wait, Results: machine.Results(r.op.Plan, r.record), Outcome: r.record.Outcome,
		Message: "one or more tasks are running",
	}
	s.Group, s.Groups = r.machine.Position()
	s.Waits = s.Wait != nil || r.trouble.message != ""
	switch {
	case s.Outcome != nil:
		s.Message = s.Outcome.Message
	case r.trouble.message != "":
		s.Message = r.trouble.message
	case s.Wait != nil:
		s.Message = s.Wait.Message()
	}
	return s
}

func (r *Run) nudge() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run is the goroutine of the operation.
func (r *Run) run(ctx context.Context) {
	defer close(r.done)
	defer r.cancel()
	unsubscribe := r.cluster.Subscribe(r.changed)
	defer unsubscribe()
	defer r.hints.running.Wait()

	_, groups := r.machine.Position()
	r.publish([]event.Event{{Type: event.OperationStarted, Groups: groups}})
	err := r.prepare(ctx)
	if err == nil {
		err = r.loop(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.outcome = Outcome{Abandoned: true}
		if !errors.Is(err, context.Canceled) {
			r.outcome.Err = err
		}
		return
	}
	r.outcome = Outcome{Outcome: *r.record.Outcome}
}

// loop asks the machine and does what it says until it has finished.
func (r *Run) loop(ctx context.Context) error {
	// unsaved is when progress must be saved at the latest, zero if there is none.
	var unsaved time.Time
	for {
		d, again := r.next(ctx)
		if d.Advanced && unsaved.IsZero() {
			unsaved = r.saveBy()
		}
		if d.Save || r.due(unsaved) {
			unsaved = time.Time{}
			if err := r.save(ctx, d.Finished); err != nil {
				return err
			}
		}
		r.publish(d.Events)
		switch {
		case d.Finished:
			return nil
		case len(d.Actions) > 0:
			r.execute(ctx, d.Actions)
			if err := ctx.Err(); err != nil {
				return err
			}
		case again:
		default:
			if err := r.idle(ctx, earlier(d.WakeAt, unsaved)); err != nil {
				return err
			}
		}
	}
}

// idle is what a run does that has nothing to do before the given time: it looks after
// what is not part of the plan, and sleeps.
func (r *Run) idle(ctx context.Context, until time.Time) error {
	if restored, err := r.restore(ctx); err != nil || restored {
		return err
	}
	again, came := r.watchOutside(ctx)
	if came {
		return nil
	}
	return r.sleep(ctx, earlier(until, again))
}

// saveWithin is how long after it has begun a run need not say how far it is, if all
// that it has done can be done again: most are over by then, and are saved once.
const saveWithin = 2 * time.Second

// saveBy is when progress that was made now must be saved at the latest.
func (r *Run) saveBy() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begunAt.Add(saveWithin)
}

func (r *Run) due(at time.Time) bool { return !at.IsZero() && !r.driver.opts.Clock.Now().Before(at) }

// next asks the machine once. Again says that what can wake the run has changed
// meanwhile, so that it must look once more before it sleeps.
func (r *Run) next(ctx context.Context) (d machine.Decision, again bool) {
	now := r.driver.opts.Clock.Now()
	look, users := r.observer(ctx), r.users()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.machine.Users(users)
	d = r.machine.Next(look, now)
	r.record = r.machine.Record()
	r.asking.Store(r.machine.Asks())
	return d, r.interest.set(r.machine.Interest(), r.cluster)
}

// sleep waits for a change or for the given time.
func (r *Run) sleep(ctx context.Context, until time.Time) error {
	var timer <-chan time.Time
	if at := earlier(until, r.explain(ctx)); !at.IsZero() {
		t := r.driver.opts.Clock.NewTimer(at.Sub(r.driver.opts.Clock.Now()))
		defer t.Stop()
		timer = t.C()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-r.wake:
	case <-timer:
	}
	return nil
}

// earlier returns the earlier of two times; zero times do not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// save writes the record; it tries until it succeeds or the record turns out to
// be somebody else's.
func (r *Run) save(ctx context.Context, finished bool) error {
	r.mu.Lock()
	r.state = r.state.update(r.record.Clone())
	if finished {
		r.state = r.state.end(!r.op.Partial, r.op.Spec).deferring(r.op.Plan, r.record)
	}
	state := r.state
	r.mu.Unlock()
	return r.persist(ctx, func() error {
		err := r.op.Store.Save(ctx, state)
		if errors.Is(err, ErrConflict) {
			return permanent{err}
		}
		return err
	})
}

// publish completes events and hands them on.
func (r *Run) publish(events []event.Event) {
	now := r.driver.opts.Clock.Now()
	for _, e := range events {
		e.Time, e.App, e.Operation, e.Attempt = now, r.op.App, r.op.ID, r.op.Attempt
		e.Revision = strings.Join(r.op.Plan.Revisions, ",")
		r.driver.opts.Events(e)
	}
}
