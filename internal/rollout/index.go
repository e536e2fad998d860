// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/inventory"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// index is a plan read once.
type index struct {
	// steps in the order of the plan.
	steps []*plan.Step
	// byKey finds steps by the object they write, generated names filled in.
	byKey map[manifest.Key][]*plan.Step
	// untracked are the objects that steps make for nobody's inventory.
	untracked map[manifest.Key]bool
	// defines are the kinds whose definition is in the plan.
	defines map[schema.GroupKind]bool
	// expected are the kinds that something else is said to register meanwhile.
	expected map[schema.GroupKind]bool
	// outside are the kinds of what others bring.
	outside map[schema.GroupKind]bool
	// kinds are all that are watched, in order; needed are those of them without which
	// nothing can be decided. The others only say more.
	kinds  []schema.GroupKind
	needed map[schema.GroupKind]bool
}

func newIndex(p *plan.Plan, operation string) index {
	x := index{
		byKey:     map[manifest.Key][]*plan.Step{},
		defines:   map[schema.GroupKind]bool{},
		untracked: map[manifest.Key]bool{},
		expected:  map[schema.GroupKind]bool{},
		outside:   map[schema.GroupKind]bool{},
		needed:    map[schema.GroupKind]bool{},
	}
	for _, f := range p.Findings {
		if f.Code == plan.CodeKindNotKnownYet {
			x.expected[f.Subject.GroupKind()] = true
		}
	}
	// Pods and what makes them tell why a workload does not get on.
	kinds := map[schema.GroupKind]bool{{Kind: "Pod"}: true, {Group: "apps", Kind: "ReplicaSet"}: true}
	for i := range p.Groups {
		for j := range p.Groups[i].Steps {
			step := &p.Groups[i].Steps[j]
			x.add(step, operation)
			for _, gk := range health.AskedAbout(step.Key.Kind) {
				kinds[gk] = true
			}
		}
	}
	maps.Copy(kinds, x.needed)
	for gk := range kinds {
		x.kinds = append(x.kinds, gk)
	}
	slices.SortFunc(x.kinds, func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return x
}

// comes tells whether a kind that is not served may come to be in this rollout.
func (x *index) comes(gk schema.GroupKind) bool { return x.defines[gk] || x.expected[gk] }

func (x *index) add(step *plan.Step, operation string) {
	x.steps = append(x.steps, step)
	key := step.Key
	key.Name = machine.HookName(operation, step)
	x.byKey[key] = append(x.byKey[key], step)
	if step.Untracked {
		x.untracked[key] = true
	}

	x.needed[key.GroupKind()] = true
	if step.Yields {
		for _, gk := range inventory.HolderKinds() {
			x.needed[gk] = true
		}
	}
	for _, need := range step.Needs {
		x.needed[need.Object.GroupKind()], x.needed[need.Producer.GroupKind()] = true, true
	}
	for _, other := range step.Outside {
		// Its kind may be as late as it is itself.
		x.needed[other.GroupKind()], x.outside[other.GroupKind()] = true, true
	}
	if step.Object == nil || step.Action == plan.Prune || step.Action == plan.SkipPrune {
		return
	}
	if gk, ok := manifest.DefinesKind(step.Object.Unstructured); ok {
		x.defines[gk] = true
	}
}
