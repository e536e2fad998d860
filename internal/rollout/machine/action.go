// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// ActionKind is what is to be done to an object.
type ActionKind string

// Kinds of actions.
const (
	// Apply writes the desired state of an ordinary object.
	Apply ActionKind = "apply"
	// CreateHook creates a hook; if an object of that name exists, that object is
	// reported instead.
	CreateHook ActionKind = "create-hook"
	// Delete deletes the object with the action's UID, after taking the hook
	// finalizer off if Release is set.
	Delete ActionKind = "delete"
	// Release takes the hook finalizer off.
	Release ActionKind = "release"
)

// Action is one effect on the cluster.
type Action struct {
	Kind ActionKind
	// Step is the id of the step concerned.
	Step string
	Key  manifest.Key
	// Version is the API version, without group, to use.
	Version string
	// Object is the desired object of Apply and CreateHook.
	Object *unstructured.Unstructured
	// UID is the precondition of Delete.
	UID types.UID
	// Release makes Delete take the hook finalizer off first.
	Release bool
}

// Result reports how an action went. Every action of a decision is reported
// before the machine is asked again, unless it was interrupted; the machine then
// finds out from the live object.
type Result struct {
	Action Action
	// Live is the object as the API server returned it, for Apply and CreateHook.
	Live Observation
	// Message is the answer in words: "deployment.apps/x created".
	Message string
	// Err is why the action failed for good; empty if it succeeded.
	Err string
	// Retry says that the failure may pass without any change to the object.
	Retry bool
}

// Decision is what to do next.
type Decision struct {
	// Save asks that the record is written before the actions are carried out.
	Save bool
	// Advanced says that groups were passed that could be passed once more: it is
	// enough that the record is written soon.
	Advanced bool
	// Actions may be carried out concurrently.
	Actions []Action
	// Events that happened with this decision, without operation and time.
	Events []event.Event
	// WakeAt is when the machine wants to be asked again even if nothing changes;
	// zero if only a change matters.
	WakeAt time.Time
	// Finished says that nothing is left to do: the outcome stands and the record,
	// if Save is set, is to be written a last time.
	Finished bool
}
