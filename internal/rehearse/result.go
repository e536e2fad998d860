// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/internal/report/findings"
	"github.com/wavetrain/wavetrain/internal/report/path"
	"github.com/wavetrain/wavetrain/internal/why"
)

// Result is everything that a rehearsal has seen.
type Result struct {
	Findings   []findings.Finding `json:"findings"`
	Plan       []Plan             `json:"plan"`
	Events     []Event            `json:"events"`
	Operations []Operation        `json:"operations"`
	Checks     []Check            `json:"checks"`
	Rendered   []Rendered         `json:"rendered,omitempty"`
	Final      State              `json:"final"`
	// Converged is true when nothing ran out of time, every Application is Synced
	// and Healthy, and every operation succeeded at last.
	Converged bool `json:"converged"`
	// Unsettled are the waits that ran out, by their step.
	Unsettled []string `json:"unsettled,omitempty"`
	// Rollouts are the attempts with the time of each wave and the critical path.
	Rollouts []Rollout `json:"rollouts"`
	// Hung is what had not come to an end, or failed, and what it hung on.
	Hung []Hang `json:"hung,omitempty"`
}

// Hang is an Application that did not converge.
type Hang struct {
	why.Answer
	// Text is the answer in words.
	Text []string `json:"text"`
}

// Rollout is an attempt at a sync in the time that it took.
type Rollout struct {
	App       string    `json:"app"`
	Rev       string    `json:"rev"`
	Attempt   int       `json:"attempt"`
	StartedAt time.Time `json:"startedAt"`
	// Message is how it ended, or what it waits for.
	Message string `json:"message,omitempty"`
	path.Timeline
	// Steps are the objects of each wave, in the order of Waves.
	Steps []Span `json:"steps"`
}

// Span is the time that an object took in a rollout.
type Span struct {
	Phase  string          `json:"phase"`
	Wave   int             `json:"wave"`
	Object string          `json:"object"`
	Start  metav1.Duration `json:"start"`
	Took   metav1.Duration `json:"took"`
	// Outcome is ready, completed, failed, deleted, open, or empty for what nobody
	// waits for.
	Outcome string `json:"outcome,omitempty"`
}

// Plan is the plan of an Application at a revision.
type Plan struct {
	App        string  `json:"app"`
	Rev        string  `json:"rev"`
	Groups     []Group `json:"groups"`
	Ignored    []Note  `json:"ignored"`
	Skipped    []Note  `json:"skipped"`
	Moved      []Move  `json:"moved"`
	OnDeletion []Group `json:"onDeletion"`
	// Why are the objects that steps need and other steps bring about.
	Why []Need `json:"why,omitempty"`
	// Inputs are the objects that charts ask the cluster for: "Secret/db".
	Inputs []string `json:"inputs,omitempty"`
	// NotDryRun are the objects that the API server can judge only when their turn
	// comes.
	NotDryRun []string `json:"notDryRun,omitempty"`
	// Error says why there is no plan.
	Error string `json:"error,omitempty"`
}

// Group is a phase and wave; objects are "Kind/name", in the order in which they
// are applied.
type Group struct {
	Phase   string   `json:"phase"`
	Wave    int      `json:"wave"`
	Objects []string `json:"objects"`
	Prune   []string `json:"prune,omitempty"`
	// HeldBy are the users for whose end a prune waits.
	HeldBy map[string][]string `json:"heldBy,omitempty"`
	// Keep are superfluous objects that stay.
	Keep []string `json:"keep,omitempty"`
}

// Need is an object that another needs, and what brings it about.
type Need struct {
	Subject    string `json:"subject"`
	Needs      string `json:"needs"`
	ProducedBy string `json:"producedBy"`
}

// Note is an object and a remark.
type Note struct {
	Object string `json:"object"`
	Reason string `json:"reason"`
}

// Move is an object that stands elsewhere than it asked for.
type Move struct {
	Object  string `json:"object"`
	From    string `json:"from"`
	To      string `json:"to"`
	Because string `json:"because"`
}

// Event is something that happened.
type Event struct {
	Time      time.Time `json:"t"`
	Rev       string    `json:"rev"`
	App       string    `json:"app,omitempty"`
	Namespace string    `json:"namespace,omitempty"`
	Object    string    `json:"object"`
	// What is created, patched, status, waiting, ready, completed, failed, deleting,
	// deleted, operation or step.
	What   string `json:"what"`
	Detail string `json:"detail,omitempty"`
}

// Operation is an attempt at a sync.
type Operation struct {
	App        string     `json:"app"`
	Rev        string     `json:"rev"`
	Attempt    int        `json:"attempt"`
	Phase      string     `json:"phase"`
	Message    string     `json:"message"`
	StartedAt  time.Time  `json:"startedAt"`
	FinishedAt *time.Time `json:"finishedAt,omitempty"`

	// which operation it is an attempt of.
	which identity
}

// Check is the state at a point that the steps name.
type Check struct {
	Name     string              `json:"name"`
	Time     time.Time           `json:"t"`
	Apps     map[string]AppState `json:"apps"`
	Objects  []ObjectState       `json:"objects"`
	Plan     []Plan              `json:"plan,omitempty"`
	Findings []findings.Finding  `json:"findings,omitempty"`
	Rendered []Rendered          `json:"rendered,omitempty"`
}

// State is what there is at the end.
type State struct {
	Apps    map[string]AppState `json:"apps"`
	Objects []ObjectState       `json:"objects"`
}

// AppState is an Application in a few words.
type AppState struct {
	Sync      string `json:"sync"`
	Health    string `json:"health"`
	Operation string `json:"operation"`
	Message   string `json:"message"`
	// Conditions are its conditions, "Type: message".
	Conditions []string `json:"conditions,omitempty"`
}

// ObjectState is an object in a few words.
type ObjectState struct {
	Namespace       string `json:"namespace,omitempty"`
	Object          string `json:"object"`
	Health          string `json:"health"`
	ResourceVersion string `json:"resourceVersion"`
	UID             string `json:"uid"`
	Generation      int64  `json:"generation,omitempty"`
}

// Rendered is what an Application renders at a revision.
type Rendered struct {
	App string `json:"app"`
	Rev string `json:"rev"`
	// Objects are the manifests; values of Secrets are hidden.
	Objects []map[string]any `json:"objects"`
	// ValueFilesUsed are the value files of charts, the least important first;
	// ValueFilesDropped are those named that are not there.
	ValueFilesUsed    []string `json:"valueFilesUsed,omitempty"`
	ValueFilesDropped []string `json:"valueFilesDropped,omitempty"`
	Error             string   `json:"error,omitempty"`
}
