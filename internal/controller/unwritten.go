// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"reflect"
	"time"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// writeEvery bounds how often the status is written because objects are healed: an
// Application that somebody keeps editing must not be written twice for each edit.
const writeEvery = progressEvery

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

// waitsToBeWritten tells whether the status is kept for a later write: it is about
// a heal, which is written once, when it has ended or taken long, and not soon
// after another heal. All else that a look changes is written at once.
func (s *session) waitsToBeWritten() bool {
	state := s.app.Status.OperationState
	if !isHeal(state) {
		return false
	}
	if s.st.run == nil && s.before.Status.Sync.Status != s.app.Status.Sync.Status && s.app.Status.Sync.Status != v1alpha1.SyncStatusSynced {
		// It has drifted and is not being healed: that is to be seen.
		return false
	}
	due := s.st.healAt.Add(writeEvery)
	if began := state.StartedAt.Add(progressEvery); !state.Phase.Completed() && began.After(due) {
		due = began
	}
	if !s.now.Before(due) || !s.onlyStatusChanged() {
		return false
	}
	s.by(due)
	return true
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

// nextProgress is when the progress of a run is shown.
func (s *session) nextProgress(began time.Time) time.Time {
	next := s.st.statusAt.Add(progressEvery)
	if s.st.unwritten != nil && began.Add(progressEvery).After(next) {
		next = began.Add(progressEvery)
	}
	return next
}
