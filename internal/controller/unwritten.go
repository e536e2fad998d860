// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/rollout"
)

// writeEvery bounds how often the status is written because objects are healed: an
// Application that somebody keeps editing must not be written twice for each edit.
const writeEvery = progressEvery

const (
	// beginWithin is how long an operation may take that is only written when it has
	// ended, queuedFor how long its turn may not have come.
	beginWithin = 2 * time.Second
	queuedFor   = 15 * time.Second
	// settleWithin is how long the end of an operation waits for the health of its
	// objects.
	settleWithin = time.Second
	// busyEvery bounds how often an operation is written that waits for nothing.
	busyEvery = 30 * time.Second
)

// takeUnwritten begins a look with the status that the last one would have written.
func (s *session) takeUnwritten() {
	kept := s.st.unwritten
	if kept == nil {
		return
	}
	terminating := operationPhase(s.app) == v1alpha1.OperationTerminating && sameOperation(s.app.Status.OperationState, kept.OperationState)
	kept.DeepCopyInto(&s.app.Status)
	if terminating {
		s.app.Status.OperationState.Phase = v1alpha1.OperationTerminating
	}
}

func sameOperation(a, b *v1alpha1.OperationState) bool {
	return a != nil && b != nil && operationID(a.Operation) == operationID(b.Operation)
}

// waitsToBeWritten tells whether what a look has changed is kept for a later write.
func (s *session) waitsToBeWritten() bool {
	due := s.writeDue()
	if !s.now.Before(due) || !s.onlyStatusChanged() {
		return false
	}
	s.by(due)
	return true
}

// writeDue is when the status is to be written at the latest: at once, but for
// automated operations, which nobody waits for.
//
// A heal is written once, when it has ended or taken long, and not soon after another
// heal. The beginning of another operation is written when it does not end soon, and
// its end together with the health that its objects come to when that does not take
// long: most operations are written once. One that has hooks is written at its
// beginning, so that it is resumed and not begun anew after a crash. Who waits for a
// place soon has one.
func (s *session) writeDue() time.Time {
	state := s.app.Status.OperationState
	switch {
	case s.postponed:
		return s.showBy()
	case state == nil || !state.Operation.InitiatedBy.Automated:
		return time.Time{}
	case isHeal(state) && s.st.run == nil && s.before.Status.Sync.Status != s.app.Status.Sync.Status && s.app.Status.Sync.Status != v1alpha1.SyncStatusSynced:
		// It has drifted and is not being healed: that is to be seen.
		return time.Time{}
	case isHeal(state):
		due := s.st.healAt.Add(writeEvery)
		if began := state.StartedAt.Add(progressEvery); !state.Phase.Completed() && began.After(due) {
			due = began
		}
		return due
	case s.st.run != nil && !s.shownAsBegun():
		return s.beginDue(s.st.run, s.st.run.Snapshot())
	case state.Phase == v1alpha1.OperationSucceeded && !s.shownAsEnded() && s.app.Status.Health.Status == v1alpha1.HealthProgressing:
		return state.FinishedAt.Add(settleWithin)
	}
	return time.Time{}
}

// shownAsBegun tells whether others know of the operation, shownAsEnded whether they
// know its end.
func (s *session) shownAsBegun() bool {
	return sameOperation(s.before.Status.OperationState, s.app.Status.OperationState)
}

func (s *session) shownAsEnded() bool {
	return s.shownAsBegun() && s.before.Status.OperationState.Phase.Completed()
}

// beginDue is when the beginning of a run is shown.
func (s *session) beginDue(run *operationRun, snap rollout.Snapshot) time.Time {
	switch {
	case isHeal(&v1alpha1.OperationState{Operation: run.request}):
		return snap.StartedAt.Add(progressEvery)
	case !run.request.InitiatedBy.Automated || snap.Attempt > 1 || hasHooks(run.plan):
		return time.Time{}
	case snap.Begun.IsZero():
		// Its turn has not come.
		return snap.StartedAt.Add(queuedFor)
	}
	return snap.Begun.Add(beginWithin)
}

// isHeal tells whether an operation is an automated one on some objects.
func isHeal(state *v1alpha1.OperationState) bool {
	return state != nil && state.Operation.InitiatedBy.Automated && state.Operation.Sync != nil && len(state.Operation.Sync.Resources) > 0
}

// onlyStatusChanged tells whether the look changes nothing of the Application that
// others wait for.
func (s *session) onlyStatusChanged() bool {
	return reflect.DeepEqual(s.before.ObjectMeta, s.app.ObjectMeta) && reflect.DeepEqual(s.before.Operation, s.app.Operation)
}

// nextProgress is when the progress of a run is shown: soon while it waits for
// something, seldom while it is at work.
func (s *session) nextProgress(run *operationRun, snap rollout.Snapshot) time.Time {
	if s.st.unwritten != nil && !s.shownAsBegun() {
		return s.beginDue(run, snap)
	}
	if snap.Waits {
		return s.st.statusAt.Add(s.opts.Pace.Every)
	}
	return s.st.statusAt.Add(busyEvery)
}

// unshown returns the operation that the record says has released the Application
// and that the status does not know: the controller stopped before it was written.
func (s *session) unshown() *v1alpha1.OperationState {
	rec, released := s.st.memory.Operation, s.st.memory.Released
	if rec == nil || released == nil || released.Operation != rec.Operation || !rec.Ended() || s.st.desired == nil || len(rec.Revisions) == 0 {
		return nil
	}
	shown := s.app.Status.OperationState
	if shown != nil && (operationID(shown.Operation) == rec.Operation || !shown.StartedAt.Time.Before(rec.StartedAt.Truncate(time.Second))) {
		return nil
	}
	op := s.automatedOperation(nil)
	op.Info = withOperationID(op.Info, rec.Operation)
	result := &v1alpha1.SyncOperationResult{}
	if s.app.Spec.MultipleSources() {
		op.Sync.Revisions, result.Revisions, result.Sources = rec.Revisions, rec.Revisions, operationSources(s.app, op)
	} else {
		source := operationSources(s.app, op)[0]
		op.Sync.Revision, result.Revision, result.Source = rec.Revisions[0], rec.Revisions[0], source
	}
	return &v1alpha1.OperationState{
		Operation: op, Phase: v1alpha1.OperationRunning, StartedAt: metav1.NewTime(rec.StartedAt), SyncResult: result,
	}
}

// follow has the Application looked at when the run has ended, and before if it has
// not a while after its turn has come.
func (s *session) follow(run *operationRun) {
	// The look is soon over; what it has decoded must not last as long as the run.
	name, clock, wakeups, places, place := nameOf(s.app), s.opts.Clock, s.wakeups, s.places, s.place
	s.place = ""
	leave := func() {
		if place != "" {
			places.give(place)
		}
	}
	go func() {
		select {
		case <-run.Begun():
			leave()
			timer := clock.NewTimer(beginWithin)
			defer timer.Stop()
			select {
			case <-timer.C():
				wakeups.add(name)
			case <-run.Done():
			}
		case <-run.Done():
			leave()
		}
		<-run.Done()
		wakeups.add(name)
	}()
}
