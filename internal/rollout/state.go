// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// StateVersion is the version of the serialised form of a State.
const StateVersion = 1

// maxAttempts bounds the history of attempts.
const maxAttempts = 20

// State is what is remembered of one application: the payload of its
// ReleaseRecord.
type State struct {
	Version int `json:"version"`
	// Released is the last completed release, nil before the first.
	Released *Release `json:"released,omitempty"`
	// Inventory are the objects that are ours, besides those of Operation.
	Inventory []Entry `json:"inventory,omitempty"`
	// Operation is the attempt in progress or the one that ended last.
	Operation *machine.Record `json:"operation,omitempty"`
	// Attempts that have ended, the newest last.
	Attempts []Attempt `json:"attempts,omitempty"`
	// Deferred are objects whose prune waits for the end of what still uses them.
	Deferred []Entry `json:"deferred,omitempty"`
	// Pin is what a caller keeps with the state about a release that it stays at;
	// this room carries it along and does not look into it.
	Pin json.RawMessage `json:"pin,omitempty"`
}

// Release is a completed release.
type Release struct {
	Operation string    `json:"operation"`
	Plan      string    `json:"plan"`
	Render    string    `json:"render"`
	Spec      string    `json:"spec,omitempty"`
	Revisions []string  `json:"revisions,omitempty"`
	At        time.Time `json:"at"`
	// Took are the times of its groups.
	Took []machine.GroupTime `json:"took,omitempty"`
}

// Entry is an object that is ours.
type Entry struct {
	manifest.Key
	UID types.UID `json:"uid"`
}

// Attempt is an attempt that has ended.
type Attempt struct {
	Operation  string          `json:"operation"`
	Attempt    int             `json:"attempt"`
	Plan       string          `json:"plan"`
	Render     string          `json:"render,omitempty"`
	Spec       string          `json:"spec,omitempty"`
	Revisions  []string        `json:"revisions,omitempty"`
	StartedAt  time.Time       `json:"startedAt"`
	FinishedAt time.Time       `json:"finishedAt"`
	Outcome    machine.Outcome `json:"outcome"`
	// Seen describes the outcome's causes as they were when it ended, by key: a
	// cause that looks different later justifies another attempt.
	Seen map[string]string `json:"seen,omitempty"`
}

// Encode serialises the state.
func (s State) Encode() ([]byte, error) {
	s.Version = StateVersion
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode release state: %w", err)
	}
	return data, nil
}

// DecodeState reads what Encode wrote; no bytes are the empty state.
func DecodeState(data []byte) (State, error) {
	var s State
	if len(data) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return State{}, fmt.Errorf("decode release state: %w", err)
	}
	if s.Version != StateVersion {
		return State{}, fmt.Errorf("decode release state: version %d is not known, this program writes version %d", s.Version, StateVersion)
	}
	return s, nil
}

// Owned returns every object that is ours, in the order of keys.
func (s State) Owned() []Entry {
	gone, owned := map[manifest.Key]bool{}, slices.Clone(s.Inventory)
	if s.Operation != nil {
		for _, step := range s.Operation.Steps {
			switch {
			case step.State == machine.Pruned, step.Untracked && step.UID != "":
				// Deleted, or handed over: made by the application, owned by nobody.
				gone[step.Key] = true
			case step.UID != "" && !step.Hook && !step.Untracked:
				owned = append(owned, Entry{Key: step.Key, UID: step.UID})
			}
		}
	}
	// An object that was written again stands behind its former self.
	latest := map[manifest.Key]Entry{}
	for _, e := range owned {
		latest[e.Key] = e
	}
	owned = owned[:0]
	for key, e := range latest {
		if !gone[key] {
			owned = append(owned, e)
		}
	}
	slices.SortFunc(owned, func(a, b Entry) int { return a.Compare(b.Key) })
	return owned
}

// begin makes rec the operation in progress; what the last one has written
// becomes part of the inventory.
func (s State) begin(rec machine.Record) State {
	s.Inventory = s.Owned()
	s.Operation = &rec
	return s
}

// update replaces the operation's record. Objects that it has written are left
// out of the inventory: each uid is stored once, which halves the state of a
// large application.
func (s State) update(rec machine.Record) State {
	s.Operation = &rec
	written := map[manifest.Key]bool{}
	for _, step := range rec.Steps {
		if !step.Hook && !step.Untracked && (step.UID != "" || step.State == machine.Pruned) {
			written[step.Key] = true
		}
	}
	s.Inventory = slices.DeleteFunc(slices.Clone(s.Inventory), func(e Entry) bool { return written[e.Key] })
	return s
}

// ended reports whether the attempt's end has been noted.
func (s State) ended(rec *machine.Record) bool {
	return slices.ContainsFunc(s.Attempts, func(a Attempt) bool {
		return a.Operation == rec.Operation && a.Attempt == rec.Attempt
	})
}

// end notes the attempt's outcome and, if full says that the whole application
// was released, the release.
func (s State) end(full bool, spec string) State {
	rec := s.Operation
	if rec == nil || rec.Outcome == nil || s.ended(rec) {
		return s
	}
	s.Attempts = append(slices.Clone(s.Attempts), Attempt{
		Operation: rec.Operation, Attempt: rec.Attempt, Plan: rec.Plan, Render: rec.Render, Spec: spec, Revisions: rec.Revisions,
		StartedAt: rec.StartedAt, FinishedAt: rec.FinishedAt, Outcome: *rec.Outcome,
	})
	if over := len(s.Attempts) - maxAttempts; over > 0 {
		s.Attempts = s.Attempts[over:]
	}
	if full && rec.Outcome.Phase == machine.PhaseSucceeded {
		s.Released = &Release{
			Operation: rec.Operation, Plan: rec.Plan, Render: rec.Render, Spec: spec,
			Revisions: rec.Revisions, At: rec.FinishedAt, Took: rec.Took,
		}
	}
	return s
}
