// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Options by which one object keeps to the kind order, and by which it does not wait
// for the effects that it needs.
const (
	noProducersFirst = "ProducersFirst=false"
	noEffectGate     = "EffectGate=false"
)

// producer is a step whose object brings a Secret about.
type producer struct {
	group int
	step  *Step
}

// relations works out After and Needs for a plan whose groups stand.
type relations struct {
	plan *Plan
	// producers of every Secret, in the order of the plan.
	producers map[manifest.Key][]producer
	// kindOrderOnly leaves the order inside groups alone.
	kindOrderOnly bool
	// noEffects leaves the effects out: what is applied first is all that counts.
	noEffects bool
}

// relate adds what holds a step back beyond the order of groups: the effects it
// needs, and the steps of its own group that bring those about.
func (b *builder) relate() {
	r := relations{plan: b.plan, producers: map[manifest.Key][]producer{}, kindOrderOnly: b.in.Options.KindOrderOnly, noEffects: b.in.Options.NoEffects}
	for gi := range b.plan.Groups {
		for si := range b.plan.Groups[gi].Steps {
			r.addProducer(gi, &b.plan.Groups[gi].Steps[si])
		}
	}
	if len(r.producers) == 0 && !b.waitsOutside() {
		return
	}
	for gi := range b.plan.Groups {
		for _, cycle := range r.relateGroup(gi) {
			b.find(cycleFinding(cycle))
		}
	}
}

func (r *relations) addProducer(group int, s *Step) {
	if s.Action.deletes() {
		return
	}
	for _, p := range manifest.Products(s.Object.Unstructured) {
		if isSecret(p.Object) {
			r.producers[p.Object] = append(r.producers[p.Object], producer{group: group, step: s})
		}
	}
}

// relateGroup relates the steps of one group and returns the cycles it found
// among them. Inside a cycle the kind order stays.
func (r *relations) relateGroup(group int) [][]*Step {
	steps := r.plan.Groups[group].Steps
	index := make(map[*Step]int, len(steps))
	for i := range steps {
		index[&steps[i]] = i
	}
	g := newGraph(len(steps))
	for i := range steps {
		for _, p := range r.require(group, &steps[i]) {
			g.add(i, index[p])
		}
	}
	r.requireSources(group, g, index)
	requireOutside(g, steps)

	component, cyclic := g.components()
	for i := range steps {
		for _, j := range g.edges[i] {
			if component[i] == component[j] {
				dropNeeds(&steps[i], &steps[j])
			} else {
				steps[i].After = append(steps[i].After, steps[j].ID)
			}
		}
		slices.Sort(steps[i].After)
		steps[i].After = slices.Compact(steps[i].After)
	}
	cycles := make([][]*Step, 0, len(cyclic))
	for _, members := range cyclic {
		cycle := make([]*Step, 0, len(members))
		for _, i := range members {
			cycle = append(cycle, &steps[i])
		}
		cycles = append(cycles, cycle)
	}
	return cycles
}

// require fills in the effects that the Pods of a step need to start, and
// returns those of their producers that stand in the same group.
func (r *relations) require(group int, s *Step) []*Step {
	if s.Action.deletes() {
		return nil
	}
	u := s.Object.Unstructured
	if _, _, ok := manifest.PodSpec(u); !ok {
		return nil
	}
	own := manifest.SyncOptions(u)
	inGroup := !r.kindOrderOnly && !own.Has(noProducersFirst)
	needed := map[manifest.Key][]string{}
	var order []manifest.Key
	for _, ref := range manifest.References(u) {
		if !ref.AtStart || ref.Optional || !isSecret(ref.Target) {
			continue
		}
		if _, ok := needed[ref.Target]; !ok {
			order = append(order, ref.Target)
		}
		needed[ref.Target] = append(needed[ref.Target], ref.Keys...)
	}
	slices.SortFunc(order, manifest.Key.Compare)
	var before []*Step
	for _, target := range order {
		p, ok := r.producerOf(target, group, s, inGroup)
		if !ok {
			continue
		}
		keys := needed[target]
		slices.Sort(keys)
		if !r.noEffects && !own.Has(noEffectGate) {
			s.Needs = append(s.Needs, Effect{Object: target, Keys: slices.Compact(keys), Producer: p.step.Key, ByStep: p.step.ID})
		}
		if p.group == group {
			before = append(before, p.step)
		}
	}
	return before
}

// producerOf returns the nearest producer of a Secret that runs before a step of
// the given group, or in that group if inGroup is set. What Sync should have
// brought about may be missing when SyncFail runs, so SyncFail looks at its own
// producers only.
func (r *relations) producerOf(secret manifest.Key, group int, s *Step, inGroup bool) (producer, bool) {
	phase := r.plan.Groups[group].Phase
	for _, p := range slices.Backward(r.producers[secret]) {
		switch {
		case p.step == s || p.group > group || p.group == group && !inGroup:
		case phase == manifest.SyncFail && r.plan.Groups[p.group].Phase != manifest.SyncFail:
		default:
			return p, true
		}
	}
	return producer{}, false
}

// requireSources puts in front of each producer of the group what it reads from
// if that is in the group too: its store or issuer, and the Secret of another
// producer that those need.
func (r *relations) requireSources(group int, g *graph, index map[*Step]int) {
	if r.kindOrderOnly {
		return
	}
	steps := r.plan.Groups[group].Steps
	byKey := map[manifest.Key]int{}
	for i := range steps {
		if !steps[i].Action.deletes() && kindRank(steps[i].Key.Kind) == otherKinds {
			byKey[steps[i].Key] = i
		}
	}
	var queue []int
	for _, list := range r.producers {
		for _, p := range list {
			if p.group == group {
				queue = append(queue, index[p.step])
			}
		}
	}
	slices.Sort(queue)
	seen := map[int]bool{}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		u := steps[i].Object.Unstructured
		if seen[i] || manifest.SyncOptions(u).Has(noProducersFirst) {
			continue
		}
		seen[i] = true
		for _, ref := range manifest.References(u) {
			if ref.Optional {
				continue
			}
			if j, ok := byKey[ref.Target]; ok {
				g.add(i, j)
				queue = append(queue, j)
			} else if p, ok := r.producerOf(ref.Target, group, &steps[i], true); ok && p.group == group {
				g.add(i, index[p.step])
			}
		}
	}
}

// requireOutside puts in front of a step what it says it needs, if that is in the
// group after all.
func requireOutside(g *graph, steps []Step) {
	for i := range steps {
		for _, key := range steps[i].Outside {
			for j := range steps {
				if steps[j].Key == key && !steps[j].Action.deletes() {
					g.add(i, j)
				}
			}
		}
	}
}

// dropNeeds removes what a step should have had from another that it is in a cycle
// with.
func dropNeeds(s, by *Step) {
	s.Needs = slices.DeleteFunc(s.Needs, func(e Effect) bool { return e.ByStep == by.ID })
	if len(s.Needs) == 0 {
		s.Needs = nil
	}
	s.Outside = slices.DeleteFunc(s.Outside, func(k manifest.Key) bool { return k == by.Key })
}

func cycleFinding(cycle []*Step) diag.Diagnostic {
	names := make([]string, 0, len(cycle))
	related := make([]manifest.Key, 0, len(cycle)-1)
	for i, s := range cycle {
		names = append(names, s.Key.Short())
		if i > 0 {
			related = append(related, s.Key)
		}
	}
	return diag.Diagnostic{
		Code: CodeProducerCycle, Severity: diag.Warning, Subject: cycle[0].Key, Related: related, At: cycle[0].Object.Provenance,
		Message: fmt.Sprintf("%s need each other's effects; they are applied in the order of their kinds", strings.Join(names, ", ")),
		Hint:    "give them different waves",
	}
}

func isSecret(k manifest.Key) bool { return k.Group == "" && k.Kind == "Secret" }
