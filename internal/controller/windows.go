// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/window"
)

// blockedByWindow begins the message of an operation that a window holds up, in
// Argo CD's words.
const blockedByWindow = "Sync operation blocked by sync window: "

// window asks the project's sync windows about an operation, and for another look
// when their answer may change.
func (s *session) window(op v1alpha1.Operation, started time.Time) window.Decision {
	d := window.Decide(s.project.Spec.SyncWindows, window.Subject{
		Application: s.app.Name, Namespace: s.app.Spec.Destination.Namespace, Server: s.dest.Server, Cluster: s.dest.known.name,
	}, window.Sync{Manual: !op.InitiatedBy.Automated, Started: started}, s.now)
	if !d.Changes.IsZero() {
		s.by(d.Changes)
	}
	return d
}

// admit tells whether an operation may begin its next attempt now: its spec and
// sources are permitted, and no window is against it. Otherwise the status says
// what it waits for, or that it was refused.
func (s *session) admit(op v1alpha1.Operation) bool {
	if s.withdrawn() {
		return false
	}
	if s.invalidSpec() || s.permits == nil {
		if s.app.Operation != nil && len(s.problems) > 0 {
			s.reject(op, s.problems[0].Message)
		}
		return false
	}
	if err := s.checkSources(operationSources(s.app, op)); err != nil {
		s.reject(op, err.Error())
		return false
	}
	started := time.Time{}
	if state := s.app.Status.OperationState; state != nil && !state.Phase.Completed() && operationID(state.Operation) != "" {
		started = state.StartedAt.Time
	}
	d := s.window(op, started)
	if !d.Allowed {
		s.holdUp(op, d.Reason)
	}
	return d.Allowed
}

// withdrawn ends an operation that a person took back before it began.
func (s *session) withdrawn() bool {
	state := s.app.Status.OperationState
	if state == nil || state.Phase != v1alpha1.OperationTerminating || operationID(state.Operation) != "" {
		return false
	}
	finished := metav1.NewTime(s.now)
	state.Phase, state.Message, state.FinishedAt = v1alpha1.OperationFailed, "Operation terminated", &finished
	s.app.Operation = nil
	return true
}

// holdUp shows that an operation waits for a window.
func (s *session) holdUp(op v1alpha1.Operation, reason string) {
	state := s.app.Status.OperationState
	if state == nil || state.Phase.Completed() {
		state = &v1alpha1.OperationState{Operation: op, StartedAt: metav1.NewTime(s.now), Phase: v1alpha1.OperationRunning}
		s.app.Status.OperationState = state
	}
	state.Message = blockedByWindow + reason
}

// suspended tells whether a window forbids to go on with the operation that the
// status describes. One that a person ends is let through: ending it changes
// nothing that a window protects.
func (s *session) suspended(state *v1alpha1.OperationState) bool {
	if state.Phase == v1alpha1.OperationTerminating {
		return false
	}
	d := s.window(state.Operation, state.StartedAt.Time)
	if !d.Allowed {
		s.holdUp(state.Operation, d.Reason)
	}
	return !d.Allowed
}

// closedOn tells whether a window has closed on the running operation. Then the
// run is abandoned where it stands, to be resumed from its record.
func (s *session) closedOn(ctx context.Context, run *operationRun) bool {
	state := s.app.Status.OperationState
	// A project that cannot be read now has not closed anything.
	if state == nil || operationID(state.Operation) != run.id || s.loadProject(ctx) != nil || !s.suspended(state) {
		return false
	}
	run.Abandon()
	return true
}

// automationWaits tells whether a window keeps automation from syncing.
func (s *session) automationWaits(op v1alpha1.Operation) bool {
	d := s.window(op, time.Time{})
	if !d.Allowed {
		s.problems = append(s.problems, v1alpha1.ApplicationCondition{Type: v1alpha1.ConditionSyncWaiting, Message: blockedByWindow + d.Reason})
	}
	return !d.Allowed
}
