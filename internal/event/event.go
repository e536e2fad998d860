// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package event holds the progress of a run as values. The rollout emits them;
// the command line, the server's stream, notifications and tests consume them.
package event

import (
	"time"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Type names what happened.
type Type string

// Types of events.
const (
	OperationStarted  Type = "operation-started"
	GroupStarted      Type = "group-started"
	StepApplied       Type = "step-applied"
	StepPruned        Type = "step-pruned"
	StepSucceeded     Type = "step-succeeded"
	StepFailed        Type = "step-failed"
	Waiting           Type = "waiting"
	GroupPassed       Type = "group-passed"
	OperationFinished Type = "operation-finished"
)

// Event is one step of a run's progress.
type Event struct {
	Type Type      `json:"type"`
	Time time.Time `json:"time"`
	// App is the namespaced name of the Application, "namespace/name".
	App       string         `json:"app"`
	Operation string         `json:"operation,omitempty"`
	Attempt   int            `json:"attempt,omitempty"`
	Revision  string         `json:"revision,omitempty"`
	Phase     manifest.Phase `json:"phase,omitempty"`
	Wave      int            `json:"wave"`
	// Group and Groups count groups from 1: "2 of 5". Zero when unknown.
	Group  int `json:"group,omitempty"`
	Groups int `json:"groups,omitempty"`
	// Object is the object concerned; zero for events on groups and operations.
	Object  manifest.Key `json:"object,omitzero"`
	Message string       `json:"message,omitempty"`
	// Since is when a wait began.
	Since time.Time `json:"since,omitzero"`
}

// Sink receives events. It must not block.
type Sink func(Event)
