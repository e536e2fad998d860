// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// Side is an application as one of two commits has it.
type Side struct {
	Namespace, Server string
	Objects           []manifest.Object
	// Application is the object itself, nil if nobody has one.
	Application *unstructured.Unstructured
	// External is what the repository says that others bring.
	External []manifest.External
	// Options are those that the Application decides.
	Options plan.Options
}

// Compare works out what it takes from base to head. Either may be nil: an
// application that is new, or gone. It is nil when nothing changes.
func Compare(name string, base, head *Side) *App {
	what := Changed
	switch {
	case base == nil && head == nil:
		return nil
	case base == nil:
		what, base = New, &Side{Namespace: head.Namespace, Server: head.Server}
	case head == nil:
		what, head = Gone, &Side{Namespace: base.Namespace, Server: base.Server}
	}
	before := base.placed(name)
	needs := needsOf(before, head.placed(name))
	var spec []diff.Change
	if what == Changed {
		spec = specChanges(base.Application, head.Application)
		if len(spec)+len(needs) == 0 && manifest.Digest(base.Objects) == manifest.Digest(head.Objects) && base.Namespace == head.Namespace && base.Server == head.Server {
			return nil
		}
	}
	rendered := before.objects()
	in := input(name, head, rendered)
	in.Options.FirstSync = what == New
	a := newApp(name, what, plan.Build(in))
	a.Spec, a.Base, a.Needs = spec, rendered, needs
	a.fill(commits(rendered))
	return a
}

// specChanges are the fields of an Application that differ.
func specChanges(base, head *unstructured.Unstructured) []diff.Change {
	if base == nil || head == nil {
		return nil
	}
	return diff.Compare(head, base, head, diff.Options{})
}

// placed are the steps of a side.
func (s *Side) placed(name string) steps {
	var list steps
	for _, g := range plan.Build(plan.Input{App: name, Namespace: s.Namespace, Server: s.Server, Objects: s.Objects, External: s.External, Options: s.order()}).Groups {
		for _, step := range g.Steps {
			if step.Object != nil {
				list = append(list, placedStep{step, g.Phase, g.Wave})
			}
		}
	}
	return list
}

// order are the options that decide where steps stand.
func (s *Side) order() plan.Options {
	return plan.Options{KindOrderOnly: s.Options.KindOrderOnly, NoEffects: s.Options.NoEffects, LastWins: s.Options.LastWins}
}

// placedStep is a step with where it stands.
type placedStep struct {
	plan.Step
	phase manifest.Phase
	wave  int
}

// steps are those of a side, in their order.
type steps []placedStep

// objects are those whose names are known, by the keys that the plan gives them.
func (s steps) objects() map[manifest.Key]manifest.Object {
	byKey := map[manifest.Key]manifest.Object{}
	for _, step := range s {
		if step.Key.Name != "" {
			byKey[step.Key] = *step.Object
		}
	}
	return byKey
}

// input plans head as if base were the cluster.
func input(name string, head *Side, before map[manifest.Key]manifest.Object) plan.Input {
	in := plan.Input{
		App: name, Namespace: head.Namespace, Server: head.Server, Objects: head.Objects,
		Live: map[manifest.Key]plan.Live{}, Options: head.Options, External: head.External,
	}
	in.Options.Prune, in.Options.OutOfSyncOnly, in.Options.CreateNamespace = true, false, false
	after := head.placed(name).objects()
	for key, was := range before {
		now, kept := after[key]
		switch {
		case kept:
			in.Live[key] = plan.Live{Object: was, InSync: same(was, now)}
		case manifest.Classify(was.Unstructured).Hook:
			// A hook that is dropped leaves nothing behind that a sync deletes.
		default:
			in.Prune = append(in.Prune, plan.Live{Object: was})
			if key == (manifest.Key{Kind: "Namespace", Name: head.Namespace}) {
				// From now on a sync makes it, if it is told to: it is handed over.
				in.Options.CreateNamespace = head.Options.CreateNamespace
				in.Live[key] = plan.Live{Object: was, InSync: true}
			}
		}
	}
	slices.SortFunc(in.Prune, func(a, b plan.Live) int { return a.Key().Compare(b.Key()) })
	return in
}

func same(a, b manifest.Object) bool {
	return manifest.Digest([]manifest.Object{a}) == manifest.Digest([]manifest.Object{b})
}

// commits compares with what was rendered before.
type commits map[manifest.Key]manifest.Object

func (c commits) was(s plan.Step) *unstructured.Unstructured { return c[s.Key].Unstructured }

func (c commits) changes(s plan.Step) []diff.Change {
	was, existed := c[s.Key]
	if !existed || s.Object == nil {
		return nil
	}
	return diff.Compare(s.Object.Unstructured, was.Unstructured, s.Object.Unstructured, diff.Options{})
}

func (c commits) replaces(s plan.Step) bool {
	return s.Object != nil && manifest.SyncOptions(s.Object.Unstructured).Has("Replace=true")
}

func (c commits) refusal(plan.Step) string { return "" }
