// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package change shows what a commit or a sync would do: per application the ordered
// steps, each with the fields that change, what restarts, what is lost, and what the
// rollout will wait for. It compares rendered sets, or a rendered set with a
// cluster; values of Secrets are in nothing that it gives.
package change

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/report/findings"
	"github.com/wavetrain/wavetrain/internal/report/path"
)

// What becomes of an application.
const (
	New     = "new"
	Changed = "changed"
	Gone    = "gone"
)

// What is done with an object.
const (
	Create  = "create"
	Update  = "update"
	Replace = "replace"
	Delete  = "delete"
	Hook    = "hook"
	None    = "none"
	// Keep is an object that is no longer rendered and stays all the same.
	Keep = "keep"
)

// App is what happens to one application.
type App struct {
	Name string `json:"app"`
	// What is New, Changed or Gone.
	What string `json:"what"`
	// Server and Namespace are the destination, Revisions what is rolled out.
	Server    string   `json:"server,omitempty"`
	Namespace string   `json:"namespace,omitempty"`
	Revisions []string `json:"revisions,omitempty"`
	// Spec are the fields of the Application itself that change.
	Spec []diff.Change `json:"spec,omitempty"`
	// Needs are the changes of what it waits for that others bring.
	Needs  []Need  `json:"needs,omitempty"`
	Groups []Group `json:"groups"`
	// Restarts are workloads whose Pods are replaced, Deletes what is taken away,
	// Replaces what is deleted and made again.
	Restarts []string `json:"restarts"`
	Deletes  []string `json:"deletes"`
	Replaces []string `json:"replaces,omitempty"`
	// Expected is what the rollout will wait for.
	Expected Expected           `json:"expected"`
	Findings []findings.Finding `json:"findings"`
	// LeftOut are rendered objects that take no part, with the reason.
	LeftOut []LeftOut `json:"leftOut,omitempty"`
	// Refused says why a sync would not be carried out now.
	Refused string `json:"refused,omitempty"`

	// Plan is what the application's steps were taken from, Base what there was
	// before: for those who check them.
	Plan *plan.Plan                       `json:"-"`
	Base map[manifest.Key]manifest.Object `json:"-"`
}

// LeftOut is an object that takes no part.
type LeftOut struct {
	Object string `json:"object"`
	Reason string `json:"reason"`
}

// Group is a phase and wave with its steps.
type Group struct {
	Phase string `json:"phase"`
	Wave  int    `json:"wave"`
	Steps []Step `json:"steps"`
	// Waits are the objects that the next group waits for: what the time that this
	// one takes depends on.
	Waits []string `json:"waits,omitempty"`
}

// Step is what happens to one object.
type Step struct {
	// ID is the plan's: unique, and stable from plan to plan.
	ID string `json:"id"`
	// Action is create, update, replace, delete, hook, none or keep.
	Action    string        `json:"action"`
	Object    string        `json:"object"`
	Namespace string        `json:"namespace,omitempty"`
	Changes   []diff.Change `json:"changes,omitempty"`
	File      string        `json:"file,omitempty"`
	// Reason says why the object stands here, stays, or waits for somebody.
	Reason string `json:"reason,omitempty"`
	// Risk is what would be lost with it, Refusal what the API server has against it.
	Risk    string `json:"risk,omitempty"`
	Refusal string `json:"refusal,omitempty"`
	// Restarts is true when Pods are replaced.
	Restarts bool `json:"restarts,omitempty"`
	// After are objects of the group that it waits for.
	After []string `json:"after,omitempty"`
	// Needs are objects that others bring and that it waits for.
	Needs []string `json:"needs,omitempty"`

	wait wait
}

// Acts tells whether anything is done with the object.
func (s Step) Acts() bool { return s.Action != None && s.Action != Keep }

// Acts tells whether anything is done at all.
func (a *App) Acts() bool {
	return len(a.Spec) > 0 || slices.ContainsFunc(a.Groups, func(g Group) bool { return slices.ContainsFunc(g.Steps, Step.Acts) })
}

// Fails tells whether the API server refuses something that is planned.
func (a *App) Fails() bool {
	return slices.ContainsFunc(a.Groups, func(g Group) bool {
		return slices.ContainsFunc(g.Steps, func(s Step) bool { return s.Refusal != "" })
	})
}

func newApp(name, what string, p *plan.Plan) *App {
	a := &App{
		Name: name, What: what, Server: p.Server, Namespace: p.Namespace, Revisions: p.Revisions,
		Groups: []Group{}, Restarts: []string{}, Deletes: []string{}, Findings: []findings.Finding{}, Plan: p,
		Expected: Expected{Timeline: path.Of(nil), Gates: []Gate{}},
	}
	for _, note := range p.Ignored {
		a.LeftOut = append(a.LeftOut, LeftOut{Object: note.Key.Short(), Reason: note.Reason})
	}
	return a
}

// against is what the steps of a plan are compared with.
type against interface {
	// changes are the fields of an object that a step changes, was is the object
	// before; nil if there is none.
	changes(plan.Step) []diff.Change
	was(plan.Step) *unstructured.Unstructured
	// replaces tells whether the object is made anew, refusal what the API server
	// has against it.
	replaces(plan.Step) bool
	refusal(plan.Step) string
}

// fill takes over the steps of the application's plan.
func (a *App) fill(w against) {
	for _, g := range a.Plan.Groups {
		out := Group{Phase: string(g.Phase), Wave: g.Wave}
		names := map[string]string{}
		for _, s := range g.Steps {
			names[s.ID] = named(s)
		}
		for _, s := range g.Steps {
			step := a.step(s, w)
			for _, id := range s.After {
				step.After = append(step.After, names[id])
			}
			if step.wait.gates && !out.onFailure() {
				out.Waits = append(out.Waits, step.Object)
			}
			out.Steps = append(out.Steps, step)
		}
		a.Groups = append(a.Groups, out)
	}
	slices.Sort(a.Restarts)
	slices.Sort(a.Deletes)
	slices.Sort(a.Replaces)
	a.Expected = expect(a.Groups)
}

func (a *App) step(s plan.Step, w against) Step {
	step := Step{ID: s.ID, Action: None, Object: named(s), Namespace: s.Key.Namespace, Reason: s.Reason, Risk: s.Risk, Refusal: w.refusal(s)}
	if s.Object != nil {
		step.File = s.Object.Provenance.File
	}
	switch s.Action {
	case plan.Prune:
		step.Action = Delete
	case plan.SkipPrune:
		step.Action = Keep
		if s.Confirm || s.Deferred {
			step.Action = Delete
		}
	case plan.Hook:
		step.Action, step.Changes = Hook, w.changes(s)
	case plan.Create:
		step.Action = Create
	case plan.Update:
		step.Action, step.Changes = Update, w.changes(s)
		step.Restarts = restarts(s, step.Changes)
	}
	if step.Action == Update && w.replaces(s) {
		step.Action = Replace
		a.Replaces = append(a.Replaces, step.Object)
	}
	if step.Action == Delete {
		a.Deletes = append(a.Deletes, step.Object)
	}
	if step.Restarts {
		a.Restarts = append(a.Restarts, step.Object)
	}
	step.Needs = brought(s)
	step.wait = waitFor(s, step, w.was(s))
	return step
}

// named is the object of a step as people know it.
func named(s plan.Step) string {
	if s.Key.Name == "" && s.Object != nil {
		return s.Key.Kind + "/" + s.Object.GetGenerateName() + "*"
	}
	return s.Key.Short()
}

// restarts tells whether the changes to a workload replace its Pods.
func restarts(s plan.Step, changes []diff.Change) bool {
	switch s.Key.Kind {
	case "Deployment", "StatefulSet", "DaemonSet", "Rollout":
		return slices.ContainsFunc(changes, func(c diff.Change) bool { return c.Path == "" || strings.HasPrefix(c.Path, "spec.template") })
	}
	return false
}
