// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// drawInput makes a random application: few names, so that objects refer to each
// other, duplicate each other and live in each other's namespaces.
func drawInput(t *rapid.T) Input {
	i := input(rapid.SliceOfN(rapid.Custom(drawObject), 0, 14).Draw(t, "objects")...)
	i.Live = map[manifest.Key]Live{}
	for n, o := range i.Objects {
		if o.GetName() != "" && rapid.Bool().Draw(t, "exists") {
			key := o.Key()
			if namespaced, _ := cluster(key.GroupKind()); namespaced && key.Namespace == "" {
				key.Namespace = "dest"
			}
			i.Live[key] = Live{Object: object("v1 ConfigMap x", uid(fmt.Sprint(n))), InSync: rapid.Bool().Draw(t, "in sync")}
		}
	}
	for n := range rapid.IntRange(0, 5).Draw(t, "prunes") {
		i.Prune = append(i.Prune, live(object(fmt.Sprintf("v1 ConfigMap dest/pruned-%d", n), wave(rapid.IntRange(-2, 3).Draw(t, "prune wave")), uid(fmt.Sprint("p", n))),
			options(rapid.SampledFrom([]string{"", "PruneLast=true", "Prune=false", "Prune=confirm"}).Draw(t, "prune option"))))
	}
	i.Options = Options{
		Prune:           rapid.Bool().Draw(t, "prune"),
		PruneLast:       rapid.Bool().Draw(t, "prune last"),
		CreateNamespace: rapid.Bool().Draw(t, "create namespace"),
		SkipHooks:       rapid.Bool().Draw(t, "skip hooks"),
		KindOrderOnly:   rapid.Bool().Draw(t, "kind order only"),
	}
	return i
}

func drawObject(t *rapid.T) manifest.Object {
	name := rapid.SampledFrom([]string{"a", "b", "c", "other/a", "other/d"}).Draw(t, "name")
	kind := rapid.SampledFrom([]string{
		"v1 ConfigMap", "v1 Namespace", "apps/v1 Deployment", "batch/v1 Job", "external-secrets.io/v1 ExternalSecret",
		"external-secrets.io/v1 SecretStore", "x.example/v1 Widget", "apiextensions.k8s.io/v1 CustomResourceDefinition",
	}).Draw(t, "kind")
	o := object(kind+" "+name, in(rapid.SampledFrom([]string{"a.yaml", "b.yaml"}).Draw(t, "file"), rapid.IntRange(0, 3).Draw(t, "line")))
	secrets := rapid.SampledFrom([]string{"a", "b", "c"})
	switch o.GetKind() {
	case "Namespace":
		o.SetName(rapid.SampledFrom([]string{"dest", "other", "third"}).Draw(t, "namespace"))
		o.SetNamespace("")
	case "Deployment", "Job":
		uses(secrets.Draw(t, "uses")+".k", secrets.Draw(t, "uses")+".k?")(&o)
	case "ExternalSecret":
		fetches(secrets.Draw(t, "store"), secrets.Draw(t, "target"), "k")(&o)
	case "SecretStore":
		set(map[string]any{"name": secrets.Draw(t, "token"), "key": "k"}, "spec", "provider", "vault", "auth", "tokenSecretRef")(&o)
	case "CustomResourceDefinition":
		defines("x.example", rapid.SampledFrom([]string{"Widget", "Gadget"}).Draw(t, "defined"))(&o)
		o.SetNamespace("")
	}
	if rapid.Bool().Draw(t, "waved") {
		wave(rapid.IntRange(-2, 2).Draw(t, "wave"))(&o)
	}
	if rapid.IntRange(0, 2).Draw(t, "hooked") == 0 {
		hook(rapid.SampledFrom([]string{"PreSync", "Sync", "PostSync", "SyncFail", "PreSync,PostSync", "Skip", "PreDelete", "bogus"}).Draw(t, "hook"))(&o)
	}
	return o
}

func TestPermutedInputGivesTheSamePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := drawInput(t)
		want := encode(t, Build(i))
		i.Objects = rapid.Permutation(i.Objects).Draw(t, "permuted objects")
		i.Prune = rapid.Permutation(i.Prune).Draw(t, "permuted prunes")
		if got := encode(t, Build(i)); got != want {
			t.Fatalf("the order of the input shows in the plan:\n%s\n%s", want, got)
		}
	})
}

func TestGroupsAscend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Build(drawInput(t))
		for n := 1; n < len(p.Groups); n++ {
			a, b := p.Groups[n-1], p.Groups[n]
			if a.Phase.Rank() > b.Phase.Rank() || a.Phase == b.Phase && a.Wave >= b.Wave {
				t.Fatalf("group %s/%d precedes %s/%d", a.Phase, a.Wave, b.Phase, b.Wave)
			}
		}
		ids := map[string]bool{}
		for _, s := range allSteps(p) {
			if ids[s.ID] {
				t.Fatalf("two steps have the id %s", s.ID)
			}
			ids[s.ID] = true
		}
	})
}

// Every object that takes part is there once per phase, every other one is named
// with a reason, and nothing else is there.
func TestNothingIsLostOrInvented(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := drawInput(t)
		p := Build(i)
		want := map[string]bool{}
		for _, o := range i.Objects {
			class := manifest.Classify(o.Unstructured)
			key := o.Key()
			if !clusterScoped(key.GroupKind()) && key.Namespace == "" {
				key.Namespace = "dest"
			}
			if class.Skip || class.Ignored || class.OnlyOnDelete() || class.Hook && i.Options.SkipHooks {
				continue
			}
			if duplicated(p.Findings, key) {
				continue
			}
			for _, phase := range class.Phases {
				want[fmt.Sprintf("%v %v", key, phaseOf(class, phase))] = true
			}
		}
		for _, s := range allSteps(p) {
			if s.Action.deletes() || s.Untracked || duplicated(p.Findings, s.Key) {
				continue
			}
			id := fmt.Sprintf("%v %v", s.Key, s.HookType)
			if !want[id] {
				t.Fatalf("step %s stands for no rendered object, or for one a second time", s.ID)
			}
			delete(want, id)
		}
		if len(want) > 0 {
			t.Fatalf("no step for %v", want)
		}
		if pruned := len(i.Prune); pruned != countDeletes(p) {
			t.Fatalf("%d prunes, %d steps that delete or say why not", pruned, countDeletes(p))
		}
	})
}

func phaseOf(class manifest.Class, phase manifest.Phase) manifest.Phase {
	if class.Hook {
		return phase
	}
	return ""
}

func duplicated(findings []diag.Diagnostic, key manifest.Key) bool {
	return slices.ContainsFunc(findings, func(d diag.Diagnostic) bool {
		return d.Subject == key && (d.Code == CodeDuplicateConflict || d.Code == CodeDuplicateIdentical)
	})
}

func countDeletes(p *Plan) int {
	n := 0
	for _, s := range allSteps(p) {
		if s.Action.deletes() {
			n++
		}
	}
	return n
}

// A Namespace precedes everything in it, a definition every object of its kind.
func TestContainersComeFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		namespaces, definitions := map[string]int{}, map[string]int{}
		var creations []Step
		for _, s := range allSteps(Build(drawInput(t))) {
			if !s.Action.deletes() {
				creations = append(creations, s)
			}
		}
		for n, s := range slices.Backward(creations) {
			if isNamespace(s.Key) {
				namespaces[s.Key.Name] = n
			}
			if gk, ok := manifest.DefinesKind(s.Object.Unstructured); ok {
				definitions[gk.String()] = n
			}
		}
		for n, s := range creations {
			if first, ok := namespaces[s.Key.Namespace]; ok && n < first {
				t.Fatalf("%s precedes its Namespace", s.ID)
			}
			if first, ok := definitions[s.Key.GroupKind().String()]; ok && n < first {
				t.Fatalf("%s precedes its CustomResourceDefinition", s.ID)
			}
		}
	})
}

// After stays inside a group and has no cycle; what a step needs is brought
// about in an earlier group or by a step it comes after.
func TestRelationsCanBeMet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Build(drawInput(t))
		done := map[string]bool{}
		for _, g := range p.Groups {
			open := slices.Clone(g.Steps)
			for len(open) > 0 {
				before := len(open)
				open = slices.DeleteFunc(open, func(s Step) bool {
					for _, id := range s.After {
						if !slices.ContainsFunc(g.Steps, func(o Step) bool { return o.ID == id }) {
							t.Fatalf("%s comes after %s, which is not in its group", s.ID, id)
						}
						if !done[id] {
							return false
						}
					}
					for _, e := range s.Needs {
						if !done[e.ByStep] {
							return false
						}
					}
					done[s.ID] = true
					return true
				})
				if len(open) == before {
					t.Fatalf("these steps wait for each other: %+v", open)
				}
			}
		}
	})
}

// The plan of a union of selections has the steps of the plans of its parts.
func TestSelectionsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := drawInput(t)
		i.Options.CreateNamespace = false
		var left, right []manifest.Key
		for _, o := range i.Objects {
			if rapid.Bool().Draw(t, "left") {
				left = append(left, o.Key())
			}
			if rapid.Bool().Draw(t, "right") {
				right = append(right, o.Key())
			}
		}
		ids := func(only []manifest.Key) []string {
			i.Options.Only = append([]manifest.Key{}, only...)
			list := []string{}
			for _, s := range allSteps(Build(i)) {
				list = append(list, fmt.Sprint(s.ID, s.Action))
			}
			return list
		}
		union := ids(slices.Concat(left, right))
		parts := slices.Concat(ids(left), ids(right))
		slices.Sort(union)
		slices.Sort(parts)
		if parts = slices.Compact(parts); !slices.Equal(union, parts) {
			t.Fatalf("union %v, parts %v", union, parts)
		}
	})
}

// Mirroring exchanges waves: applied twice it changes nothing, and what came
// earlier comes later.
func TestMirrorWaves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		waves := rapid.SliceOf(rapid.IntRange(-3, 3)).Draw(t, "waves")
		var steps []*placed
		for _, w := range waves {
			steps = append(steps, &placed{wave: w})
		}
		mirrorWaves(steps)
		for i := range waves {
			for j := range waves {
				if waves[i] < waves[j] != (steps[i].wave > steps[j].wave) {
					t.Fatalf("waves %d and %d became %d and %d", waves[i], waves[j], steps[i].wave, steps[j].wave)
				}
			}
		}
		mirrorWaves(steps)
		for i, w := range waves {
			if steps[i].wave != w {
				t.Fatalf("mirrored twice, wave %d became %d", w, steps[i].wave)
			}
		}
	})
}
