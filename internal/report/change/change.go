// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package change shows what a commit would do: per application the ordered steps
// that are not empty, each with the fields that change, what restarts and what is
// lost. It compares rendered sets; values of Secrets are in nothing that it gives.
package change

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/report/findings"
	"github.com/wavetrain/wavetrain/internal/verify"
)

// What becomes of an application.
const (
	New     = "new"
	Changed = "changed"
	Gone    = "gone"
)

// Side is an application as one of two commits renders it.
type Side struct {
	Namespace, Server string
	Objects           []manifest.Object
}

// App is what a commit does to one application.
type App struct {
	Name string `json:"app"`
	// What is New, Changed or Gone.
	What   string  `json:"what"`
	Groups []Group `json:"groups"`
	// Restarts are workloads whose Pods are replaced, Deletes what is taken away.
	Restarts []string           `json:"restarts"`
	Deletes  []string           `json:"deletes"`
	Findings []findings.Finding `json:"findings"`
}

// Group is a phase and wave with the steps that do something.
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
	// Action is create, update, delete or hook.
	Action  string        `json:"action"`
	Object  string        `json:"object"`
	Changes []diff.Change `json:"changes,omitempty"`
	File    string        `json:"file,omitempty"`
}

// Compare works out what it takes from base to head. Either may be nil: an
// application that is new, or gone. It is nil when nothing changes.
func Compare(name string, base, head *Side) *App {
	switch {
	case base == nil && head == nil:
		return nil
	case base != nil && head != nil && manifest.Digest(base.Objects) == manifest.Digest(head.Objects) && base.Namespace == head.Namespace && base.Server == head.Server:
		return nil
	}
	a := &App{Name: name, What: Changed, Groups: []Group{}, Restarts: []string{}, Deletes: []string{}, Findings: []findings.Finding{}}
	if base == nil {
		a.What, base = New, &Side{Namespace: head.Namespace, Server: head.Server}
	}
	if head == nil {
		a.What, head = Gone, &Side{Namespace: base.Namespace, Server: base.Server}
	}
	before := placed(name, base)
	p := plan.Build(input(name, head, before))
	for _, g := range p.Groups {
		a.add(g, before)
	}
	if a.What != Gone {
		found := verify.Run(verify.Input{Plan: p, Base: before})
		a.Findings = findings.Of(name, found)
	}
	slices.Sort(a.Restarts)
	slices.Sort(a.Deletes)
	return a
}

// placed returns the objects of a side by the keys that a plan gives them.
func placed(name string, s *Side) map[manifest.Key]manifest.Object {
	byKey := map[manifest.Key]manifest.Object{}
	for _, g := range plan.Build(plan.Input{App: name, Namespace: s.Namespace, Server: s.Server, Objects: s.Objects}).Groups {
		for _, step := range g.Steps {
			if step.Object != nil && step.Key.Name != "" {
				byKey[step.Key] = *step.Object
			}
		}
	}
	return byKey
}

// input plans head as if base were the cluster.
func input(name string, head *Side, before map[manifest.Key]manifest.Object) plan.Input {
	in := plan.Input{
		App: name, Namespace: head.Namespace, Server: head.Server, Objects: head.Objects,
		Live: map[manifest.Key]plan.Live{}, Options: plan.Options{Prune: true},
	}
	after := placed(name, head)
	for key, was := range before {
		now, kept := after[key]
		switch {
		case kept:
			in.Live[key] = plan.Live{Object: was, InSync: same(was, now)}
		case manifest.Classify(was.Unstructured).Hook:
			// A hook that is dropped leaves nothing behind that a sync deletes.
		default:
			in.Prune = append(in.Prune, plan.Live{Object: was})
		}
	}
	slices.SortFunc(in.Prune, func(a, b plan.Live) int { return a.Key().Compare(b.Key()) })
	return in
}

func same(a, b manifest.Object) bool {
	return manifest.Digest([]manifest.Object{a}) == manifest.Digest([]manifest.Object{b})
}

func (a *App) add(g plan.Group, before map[manifest.Key]manifest.Object) {
	out := Group{Phase: string(g.Phase), Wave: g.Wave}
	for _, s := range g.Steps {
		step := Step{Object: s.Key.Short()}
		if s.Object != nil {
			step.File = s.Object.Provenance.File
		}
		was, existed := before[s.Key]
		switch s.Action {
		case plan.None:
			continue
		case plan.Prune, plan.SkipPrune:
			step.Action = "delete"
			if s.Action == plan.SkipPrune && !s.Confirm && !s.Deferred {
				continue
			}
			a.Deletes = append(a.Deletes, step.Object)
		case plan.Hook:
			if s.Key.Name == "" {
				step.Object = s.Key.Kind + "/" + s.Object.GetGenerateName() + "*"
			}
			step.Action = "hook"
			if existed {
				step.Changes = changes(was.Unstructured, s.Object.Unstructured)
			}
		case plan.Create:
			step.Action = "create"
		case plan.Update:
			step.Action = "update"
			step.Changes = changes(was.Unstructured, s.Object.Unstructured)
			if restarts(was.Unstructured, s.Object.Unstructured) {
				a.Restarts = append(a.Restarts, step.Object)
			}
		}
		if step.Action != "delete" && waitedFor(s) {
			out.Waits = append(out.Waits, step.Object)
		}
		out.Steps = append(out.Steps, step)
	}
	if len(out.Steps) > 0 {
		a.Groups = append(a.Groups, out)
	}
}

// changes are the fields in which a release changes an object.
func changes(was, now *unstructured.Unstructured) []diff.Change {
	return diff.Compare(now, was, now, diff.Options{})
}

// restarts reports whether the Pods of a workload are replaced.
func restarts(was, now *unstructured.Unstructured) bool {
	switch now.GetKind() {
	case "Deployment", "StatefulSet", "DaemonSet", "Rollout":
		return diffTemplates(field.Map(was.Object, "spec.template"), field.Map(now.Object, "spec.template"))
	}
	return false
}

func diffTemplates(a, b map[string]any) bool {
	one := manifest.Object{Unstructured: &unstructured.Unstructured{Object: a}}
	other := manifest.Object{Unstructured: &unstructured.Unstructured{Object: b}}
	return !same(one, other)
}

// waitedFor reports whether an object takes time until it is ready.
func waitedFor(s plan.Step) bool {
	if s.Object == nil {
		return false
	}
	_, _, pods := manifest.PodSpec(s.Object.Unstructured)
	return pods && s.Key.Kind != "CronJob"
}
