// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"strings"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// Status is what became of a step's object, in Argo CD's words.
type Status string

// Statuses of results.
const (
	Synced       Status = "Synced"
	SyncFailed   Status = "SyncFailed"
	StatusPruned Status = "Pruned"
	PruneSkipped Status = "PruneSkipped"
)

// StepResult is what became of a step, as an operation's status shows it.
type StepResult struct {
	Key     manifest.Key
	Version string
	Status  Status
	Message string
	// HookType is empty for ordinary objects.
	HookType manifest.Phase
	// HookPhase is Running, Succeeded, Failed or Error; ordinary objects have one
	// too.
	HookPhase string
	SyncPhase manifest.Phase
	// Changed is unset for an object that the step found and left as it should be.
	Changed bool
}

// Results returns the results of all steps that have been begun: in the order of
// the plan, then those of steps that only the record still knows.
func Results(p *plan.Plan, rec Record) []StepResult {
	var out []StepResult
	known := map[string]bool{}
	for i := range p.Groups {
		for j := range p.Groups[i].Steps {
			step := &p.Groups[i].Steps[j]
			known[step.ID] = true
			s := rec.Steps[step.ID]
			if s == nil || s.State == Pending || s.State == Clearing {
				continue
			}
			r := result(s, p.Groups[i].Phase)
			r.Version, r.HookType = step.Version, step.HookType
			r.Changed = step.Action != plan.None
			out = append(out, r)
		}
	}
	for _, id := range rec.stepIDs() {
		if s := rec.Steps[id]; !known[id] && s.State.Done() {
			phase, _, _ := strings.Cut(id, "/")
			r := result(s, manifest.Phase(phase))
			r.Changed = true
			out = append(out, r)
		}
	}
	return out
}

func result(s *StepRecord, phase manifest.Phase) StepResult {
	r := StepResult{Key: s.Key, Status: Synced, Message: s.Message, HookPhase: "Running", SyncPhase: phase}
	switch s.State {
	case Succeeded:
		r.HookPhase = "Succeeded"
	case Failed:
		r.HookPhase = "Failed"
		if s.Rejected {
			r.Status = SyncFailed
		}
	case Pruned, Pruning:
		r.Status, r.HookPhase = StatusPruned, "Succeeded"
	case Skipped:
		r.Status, r.HookPhase = PruneSkipped, "Succeeded"
	}
	return r
}

// created is the message of an object that was created, as kubectl words it.
func created(k manifest.Key) string { return Accepted(k, "created") }

// Accepted words the API server's answer to a write as kubectl does:
// "deployment.apps/web created".
func Accepted(k manifest.Key, verb string) string {
	kind := strings.ToLower(k.Kind)
	if k.Group != "" {
		kind += "." + k.Group
	}
	return kind + "/" + k.Name + " " + verb
}
