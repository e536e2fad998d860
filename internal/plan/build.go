// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Build works out the plan of one application. It never fails: what is wrong
// with the input becomes a finding, and the plan stays as complete as it can be.
func Build(in Input) *Plan {
	b := &builder{in: in, plan: &Plan{
		Version:      Version,
		App:          in.App,
		Namespace:    in.Namespace,
		Server:       in.Server,
		Revisions:    in.Revisions,
		RenderDigest: manifest.Digest(in.Objects),
		Partial:      in.Options.Only != nil,
		Groups:       []Group{},
	}}
	items := b.read()
	items = b.merge(items)
	b.checkKinds(items)
	b.place(items)
	b.createNamespace()
	b.unproven()
	b.prune()
	b.lift()
	b.narrow()
	b.plan.Groups = b.group(b.steps)
	b.plan.OnDeletion = b.group(b.deletion)
	b.await()
	b.relate()
	b.postpone()
	b.finish()
	return b.plan
}

// builder carries a plan through its making.
type builder struct {
	in   Input
	plan *Plan
	// defined are the kinds that CustomResourceDefinitions of the rendered set
	// define, with whether they are namespaced.
	defined map[schema.GroupKind]bool
	// rendered are the keys of all rendered objects, also of those without a step.
	rendered map[manifest.Key]bool
	// steps and deletion are the steps of a rollout and of the application's
	// deletion, in no order until group.
	steps, deletion []*placed
}

// placed is a step with the place it has so far.
type placed struct {
	Step
	phase manifest.Phase
	wave  int
	// rank is the place of the kind in a group; before goes in front of other
	// steps of equal rank.
	rank   int
	before bool
	// digest tells steps apart that have no name yet.
	digest string
}

// deletes reports whether the step is about removing a live object.
func (a Action) deletes() bool { return a == Prune || a == SkipPrune }

// comparePlace orders steps by phase and wave.
func comparePlace(a, b *placed) int {
	return cmp.Or(cmp.Compare(a.phase.Rank(), b.phase.Rank()), cmp.Compare(a.wave, b.wave))
}

// comparePlaced orders steps as they run: by phase, wave, prunes first, kind,
// name. The rest of the key makes the order total.
func comparePlaced(a, b *placed) int {
	return cmp.Or(
		comparePlace(a, b),
		compareBool(a.Action.deletes(), b.Action.deletes()),
		cmp.Compare(a.rank, b.rank),
		compareBool(a.before, b.before),
		cmp.Compare(a.Key.Name, b.Key.Name),
		a.Key.Compare(b.Key),
		cmp.Compare(a.digest, b.digest),
	)
}

// compareBool orders true before false.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

func (b *builder) find(d diag.Diagnostic) { b.plan.Findings = append(b.plan.Findings, d) }

func (b *builder) ignore(it item, reason string) {
	b.plan.Ignored = append(b.plan.Ignored, Note{Key: it.key, Reason: reason, At: it.obj.Provenance})
}

// narrow leaves out what the operation's options exclude: objects that were not
// selected, and those in sync when only the others are wanted. It comes after
// lifting, so that an object stands where it stands in the plan of the whole.
func (b *builder) narrow() {
	opts := b.in.Options
	var inSync []*placed
	b.steps = slices.DeleteFunc(b.steps, func(s *placed) bool {
		if s.Untracked {
			return false
		}
		if b.plan.Partial && !b.selected(s.Key) {
			return true
		}
		if opts.OutOfSyncOnly && s.Action == None {
			inSync = append(inSync, s)
			return true
		}
		return false
	})
	for _, g := range b.group(inSync) {
		b.plan.InSync = append(b.plan.InSync, g.Steps...)
	}
	if b.plan.Partial {
		b.plan.Moved = slices.DeleteFunc(b.plan.Moved, func(m Move) bool { return !b.selected(m.Key) })
		b.plan.Findings = slices.DeleteFunc(b.plan.Findings, func(d diag.Diagnostic) bool { return !b.selected(d.Subject) })
	}
}

func (b *builder) selected(k manifest.Key) bool {
	return slices.ContainsFunc(b.in.Options.Only, func(o manifest.Key) bool {
		return o.GroupKind() == k.GroupKind() && o.Name == k.Name && (o.Namespace == "" || o.Namespace == k.Namespace)
	})
}

// group sorts steps and cuts them into groups of one phase and wave.
func (b *builder) group(steps []*placed) []Group {
	slices.SortFunc(steps, comparePlaced)
	groups := []Group{}
	ids := map[string]int{}
	for _, s := range steps {
		if n := len(groups); n == 0 || groups[n-1].Phase != s.phase || groups[n-1].Wave != s.wave {
			groups = append(groups, Group{Phase: s.phase, Wave: s.wave})
		}
		s.ID = stepID(s, ids)
		last := &groups[len(groups)-1]
		last.Steps = append(last.Steps, s.Step)
	}
	return groups
}

// finish brings lists into their order and computes the plan's id.
func (b *builder) finish() {
	p := b.plan
	if len(p.OnDeletion) == 0 {
		p.OnDeletion = nil
	}
	slices.SortFunc(p.Ignored, func(a, b Note) int {
		return cmp.Or(a.Key.Compare(b.Key), cmp.Compare(a.Reason, b.Reason), compareProvenance(a.At, b.At))
	})
	slices.SortFunc(p.Moved, func(a, b Move) int { return cmp.Or(a.Key.Compare(b.Key), cmp.Compare(a.From, b.From)) })
	diag.Sort(p.Findings)
	p.ID = p.digest()
}
