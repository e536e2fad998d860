// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// Record is all that must survive a crash of an operation in progress. It is
// written before an effect that must not be repeated and at every group
// boundary; whatever happened after the last write is safe to do again.
type Record struct {
	// Operation is the id of the operation, Attempt counts its attempts from 1.
	// Together they are the mark on every hook.
	Operation string `json:"operation"`
	Attempt   int    `json:"attempt"`
	// Plan is the id of the plan the attempt began with, Render the digest of
	// the rendered set: an attempt can be resumed with any plan for that set.
	Plan      string   `json:"plan"`
	Render    string   `json:"render,omitempty"`
	Revisions []string `json:"revisions,omitempty"`

	StartedAt  time.Time `json:"startedAt"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`

	// Checked says that the plan passed the checks that precede the first write.
	Checked bool `json:"checked,omitempty"`
	// Steps by the plan's step ids. A step without an entry is pending.
	Steps map[string]*StepRecord `json:"steps,omitempty"`

	// Took are the times of the groups that were passed, of those that took any.
	Took []GroupTime `json:"took,omitempty"`

	// Stop is a request to end the attempt early.
	Stop *Stop `json:"stop,omitempty"`
	// Failure is set as soon as the attempt has failed; the SyncFail hooks may
	// still be running.
	Failure *Failure `json:"failure,omitempty"`
	// Wait is what the attempt waited for when the record was written.
	Wait *Wait `json:"wait,omitempty"`
	// Outcome is set when the attempt has ended; what is left is tidying up.
	Outcome *Outcome `json:"outcome,omitempty"`
}

// GroupTime is how long a group took, and which object was waited for last.
type GroupTime struct {
	Phase manifest.Phase `json:"phase"`
	Wave  int            `json:"wave"`
	Took  time.Duration  `json:"took"`
	Last  string         `json:"last,omitempty"`
}

// NewRecord begins an attempt.
func NewRecord(operation string, attempt int, p *plan.Plan, now time.Time) Record {
	return Record{
		Operation: operation,
		Attempt:   attempt,
		Plan:      p.ID,
		Render:    p.RenderDigest,
		Revisions: slices.Clone(p.Revisions),
		StartedAt: now,
		Steps:     map[string]*StepRecord{},
	}
}

// Resumable reports whether the attempt can be continued with p: a plan for the
// same rendered set. Preconditions differ by nature, they are what the attempt
// itself has changed. An attempt that has its outcome is continued, too: it may
// not have tidied up.
func (r Record) Resumable(p *plan.Plan) bool {
	return r.Operation != "" && r.Render == p.RenderDigest && slices.Equal(r.Revisions, p.Revisions)
}

// Ended reports whether nothing of the attempt is left to do: it has its outcome
// and its hooks are deleted or released.
func (r Record) Ended() bool {
	if r.Outcome == nil {
		return false
	}
	for _, s := range r.Steps {
		if s.Held || s.Drop {
			return false
		}
	}
	return true
}

// Mark is the value of the annotation that tells this attempt's hooks from
// those of any other.
func (r Record) Mark() string { return mark(r.Operation, r.Attempt) }

// Clone returns a copy that shares nothing with r.
func (r Record) Clone() Record {
	c := r
	c.Revisions, c.Took = slices.Clone(r.Revisions), slices.Clone(r.Took)
	c.Steps = make(map[string]*StepRecord, len(r.Steps))
	for id, s := range r.Steps {
		copied := *s
		c.Steps[id] = &copied
	}
	c.Stop, c.Wait = clonePointer(r.Stop), clonePointer(r.Wait)
	if c.Failure = clonePointer(r.Failure); c.Failure != nil {
		c.Failure.Causes = slices.Clone(r.Failure.Causes)
	}
	if c.Outcome = clonePointer(r.Outcome); c.Outcome != nil {
		c.Outcome.Causes = slices.Clone(r.Outcome.Causes)
	}
	return c
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// stepIDs returns the ids of all recorded steps in order.
func (r Record) stepIDs() []string { return slices.Sorted(maps.Keys(r.Steps)) }

// State is how far a step has come.
type State string

// States of a step. Clearing, Creating and Pruning are intents: they are
// recorded before the effect, so that after a crash the live object, not a
// guess, tells whether it happened.
const (
	// Pending steps have not been touched.
	Pending State = ""
	// Clearing steps are hooks whose predecessor of the same name is being
	// deleted.
	Clearing State = "clearing"
	// Creating steps are hooks that are about to be, or have been, created.
	Creating State = "creating"
	// Applied steps were accepted by the API server.
	Applied State = "applied"
	// Succeeded steps hold nothing up any more.
	Succeeded State = "succeeded"
	// Failed steps fail their group.
	Failed State = "failed"
	// Pruning steps are being deleted.
	Pruning State = "pruning"
	// Pruned steps are gone.
	Pruned State = "pruned"
	// Skipped steps are prunes that must not be carried out.
	Skipped State = "skipped"
)

// Done reports whether a step in this state needs nothing more.
func (s State) Done() bool {
	return s == Succeeded || s == Failed || s == Pruned || s == Skipped
}

// written reports whether the step's object has been written, so that steps
// that only follow it may begin.
func (s State) written() bool {
	return s == Applied || s == Succeeded || s == Pruned || s == Skipped
}

// StepRecord is what is remembered of a step.
type StepRecord struct {
	State State        `json:"state"`
	Key   manifest.Key `json:"key"`
	// Hook and Untracked objects are in nobody's inventory.
	Hook      bool `json:"hook,omitempty"`
	Untracked bool `json:"untracked,omitempty"`
	// UID, ResourceVersion and Generation are what our own write returned.
	UID             types.UID `json:"uid,omitempty"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`
	Generation      int64     `json:"generation,omitempty"`
	// Message is the API server's answer, then the hook's or the gate's result.
	Message string `json:"message,omitempty"`
	// Rejected says that the step failed because its write was refused.
	Rejected bool `json:"rejected,omitempty"`
	// Retry says that a failed step may succeed on a timer, without any change.
	Retry bool `json:"retry,omitempty"`
	// Deferred says that a prune was put off because something uses the object.
	Deferred bool `json:"deferred,omitempty"`
	// Cause is the object whose change may mend a failed step, if it is not the
	// step's own.
	Cause *manifest.Key `json:"cause,omitempty"`
	// Held says that the live hook carries our finalizer, Drop that it is to be
	// deleted when the attempt has ended.
	Held bool `json:"held,omitempty"`
	Drop bool `json:"drop,omitempty"`
}

// Stop is a request to end an attempt early.
type Stop struct {
	// Message becomes the outcome's message.
	Message string `json:"message"`
	// Superseded is set when a newer release takes over; such a stop waits until
	// the attempt has nothing left to write in its group.
	Superseded bool `json:"superseded,omitempty"`
}

// Failure is why an attempt failed.
type Failure struct {
	Message string         `json:"message"`
	Causes  []manifest.Key `json:"causes,omitempty"`
	Retry   bool           `json:"retry,omitempty"`
}

// Phase of an outcome, in Argo CD's words.
type Phase string

// Phases in which an attempt ends.
const (
	PhaseSucceeded Phase = "Succeeded"
	PhaseFailed    Phase = "Failed"
	PhaseError     Phase = "Error"
)

// Outcome is how an attempt ended.
type Outcome struct {
	Phase   Phase  `json:"phase"`
	Message string `json:"message"`
	// Causes are the objects whose change justifies another attempt without a
	// new commit.
	Causes []manifest.Key `json:"causes,omitempty"`
	// Retry says that another attempt may be made on a timer.
	Retry bool `json:"retry,omitempty"`
	// Terminated and Superseded tell the two ways of ending early apart.
	Terminated bool `json:"terminated,omitempty"`
	Superseded bool `json:"superseded,omitempty"`
}
