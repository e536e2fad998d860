// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/pipeline"
)

// infoLeft is the entry of an operation's info that carries the release of the
// target revision when the operation began: what a rollback goes back from.
const infoLeft = "wavetrain.dev/left"

// noPin is the option by which a rollback is refused while automated sync is on.
const noPin = "RollbackPin=false"

// pin keeps automation on a release that a person went back to. It is kept in the
// ReleaseRecord.
type pin struct {
	Sources   []v1alpha1.ApplicationSource `json:"sources"`
	Revisions []string                     `json:"revisions"`
	// Left is the release of the target revision that the person went back from.
	// The pin holds as long as the target revision still comes to that.
	Left string `json:"left"`
}

// pinned returns the pin in force for what the target revision comes to, nil if
// there is none.
func (s *session) pinned(head *pipeline.Desired) *pin {
	if len(s.st.memory.Pin) == 0 || head == nil || !s.app.Spec.AutomatedEnabled() || s.ownOptions().Has(noPin) {
		return nil
	}
	p := &pin{}
	if err := json.Unmarshal(s.st.memory.Pin, p); err != nil || p.Left != s.release(head) {
		return nil
	}
	return p
}

// keptAt returns what the Application is compared with and kept at: what the
// target revision comes to, or the release that is pinned.
func (s *session) keptAt(ctx context.Context, req pipeline.Request, head *pipeline.Desired) (*pipeline.Desired, error) {
	p := s.pinned(head)
	if p == nil {
		return head, nil
	}
	req.Sources = p.Sources
	desired, err := s.rendered(ctx, req, p.Revisions)
	if err != nil {
		return nil, fmt.Errorf("render the pinned revision %s: %w", strings.Join(p.Revisions, ", "), err)
	}
	return desired, nil
}

// noteLeft notes in a person's operation what it may go back from.
func (s *session) noteLeft(op v1alpha1.Operation) v1alpha1.Operation {
	if op.InitiatedBy.Automated || s.st.head == nil || infoValue(op, infoLeft) != "" {
		return op
	}
	op.Info = append(slices.Clone(op.Info), v1alpha1.Info{Name: infoLeft, Value: s.release(s.st.head)})
	return op
}

// repin decides after a whole release what automation keeps to: a person's
// rollback is kept, every other release ends an earlier pin. It reports whether that
// makes a difference.
func (s *session) repin(ctx context.Context, state *v1alpha1.OperationState) (changed bool, err error) {
	next := pinFor(state, s.completed(), s.app.Spec.AutomatedEnabled())
	var data []byte
	if next != nil {
		if data, err = json.Marshal(next); err != nil {
			return false, fmt.Errorf("encode pin: %w", err)
		}
	}
	if string(data) == string(s.st.memory.Pin) {
		return false, nil
	}
	s.st.memory.Pin = data
	// What is desired is another thing from here on.
	s.st.refresh.Store(true)
	return true, recordStore{s.st.record}.Save(ctx, s.st.memory)
}

// pinFor returns the pin that a completed operation asks for: one if a person has
// rolled out something else than what the target revision came to.
func pinFor(state *v1alpha1.OperationState, completed string, automated bool) *pin {
	left := infoValue(state.Operation, infoLeft)
	result := state.SyncResult
	if !automated || state.Operation.InitiatedBy.Automated || left == "" || left == completed || result == nil {
		return nil
	}
	p := &pin{Sources: result.Sources, Revisions: result.Revisions, Left: left}
	if len(p.Sources) == 0 {
		p.Sources, p.Revisions = []v1alpha1.ApplicationSource{result.Source}, []string{result.Revision}
	}
	return p
}

// tellPin has the status say that automation keeps to an earlier release.
func (s *session) tellPin() {
	if p := s.pinned(s.st.head); p != nil {
		s.problems = append(s.problems, v1alpha1.ApplicationCondition{
			Type: v1alpha1.ConditionRollbackPinned,
			Message: fmt.Sprintf("rolled back to %s: automation stays there until a commit changes what the target revision renders, or somebody syncs",
				strings.Join(p.Revisions, ", ")),
		})
	}
}

func infoValue(op v1alpha1.Operation, name string) string {
	for _, info := range op.Info {
		if info.Name == name {
			return info.Value
		}
	}
	return ""
}
