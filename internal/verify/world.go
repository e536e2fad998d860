// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// stage is a step with its place in the order of the rollout.
type stage struct {
	*plan.Step
	// at counts the groups before this one.
	at    int
	phase manifest.Phase
	wave  int
	// rank is the place inside the group.
	rank int
	// last is true in the last group: its ordinary objects are not waited for.
	last bool
}

func (s *stage) place() string { return string(s.phase) + "/" + strconv.Itoa(s.wave) }

func (s *stage) hook() bool { return s.HookType != "" }

func (s *stage) group() schema.GroupKind { return s.Key.GroupKind() }

// content returns the rendered object.
func (s *stage) content() map[string]any { return s.Object.Object }

// gated reports whether the rollout waits until the object is healthy.
func (s *stage) gated() bool { return s.hook() || !s.last }

// deletes reports whether the step removes a live object.
func deletes(a plan.Action) bool { return a == plan.Prune || a == plan.SkipPrune }

// provider is a step after which an object is there.
type provider struct {
	*stage
	// made is true when a controller makes the object from the step's.
	made bool
	// keys that the object holds; nil when they are not known.
	keys map[string]bool
}

// world is a plan indexed for checks, and what they have found.
type world struct {
	in Input
	// stages of the rollout in their order, without prunes and SyncFail hooks.
	stages []*stage
	// fails are the SyncFail hooks, prunes the steps that remove objects,
	// deletion the delete hooks.
	fails, prunes, deletion []*stage
	// byKey holds the steps of every object, providers those after which an object
	// is there.
	byKey     map[manifest.Key][]*stage
	providers map[manifest.Key][]provider
	// defined are the kinds that the rendered set defines.
	defined map[schema.GroupKind]*stage
	// byLabel are the workloads whose Pods have a label, in the order of the plan.
	byLabel map[label][]*stage
	// opaque are the namespaces with objects from which an operator may make Pods,
	// peopled those with workloads, limits the LimitRanges of each.
	opaque, peopled map[string]bool
	limits          map[string][]*stage
	// scaledBy are the autoscalers of a workload.
	scaledBy map[manifest.Key][]*stage
	// vouched are the objects that a step names as brought by others.
	vouched map[manifest.Key]bool
	// refs are the references that have been read already.
	refs      map[*stage][]manifest.Reference
	migrators []migrator
	// migrations are the schema changes that have been looked for already.
	migrations map[*stage]migration

	found []Finding
}

func newWorld(in Input) *world {
	w := &world{
		in: in, byKey: map[manifest.Key][]*stage{}, providers: map[manifest.Key][]provider{},
		defined: map[schema.GroupKind]*stage{}, scaledBy: map[manifest.Key][]*stage{}, refs: map[*stage][]manifest.Reference{},
		byLabel: map[label][]*stage{}, opaque: map[string]bool{}, peopled: map[string]bool{}, limits: map[string][]*stage{},
		vouched: map[manifest.Key]bool{}, migrators: migrators(), migrations: map[*stage]migration{},
	}
	groups := in.Plan.Groups
	end := len(groups)
	for end > 0 && groups[end-1].Phase == manifest.SyncFail {
		end--
	}
	for at, g := range groups {
		for rank := range g.Steps {
			s := &stage{Step: titled(&g.Steps[rank]), at: at, phase: g.Phase, wave: g.Wave, rank: rank, last: at >= end-1}
			switch {
			case deletes(s.Action):
				w.prunes = append(w.prunes, s)
			case g.Phase == manifest.SyncFail:
				w.fails = append(w.fails, s)
			default:
				w.include(s)
			}
		}
	}
	for i := range in.Plan.InSync {
		// Left out of a rollout of what is out of sync alone: there from the start.
		w.include(&stage{Step: &in.Plan.InSync[i], at: -1, phase: manifest.Sync})
	}
	for at, g := range in.Plan.OnDeletion {
		for rank := range g.Steps {
			w.deletion = append(w.deletion, &stage{Step: titled(&g.Steps[rank]), at: at, phase: g.Phase, wave: g.Wave, rank: rank})
		}
	}
	return w
}

// titled gives a hook whose name is generated one to be called by: what it is made
// from.
func titled(s *plan.Step) *plan.Step {
	if s.Key.Name != "" || s.Object == nil {
		return s
	}
	named := *s
	named.Key.Name = s.Object.GetGenerateName() + "*"
	return &named
}

func (w *world) include(s *stage) {
	if s.Object == nil {
		return
	}
	for _, key := range s.Outside {
		w.vouched[key] = true
	}
	w.stages = append(w.stages, s)
	w.byKey[s.Key] = append(w.byKey[s.Key], s)
	w.providers[s.Key] = append(w.providers[s.Key], provider{stage: s, keys: dataKeys(s.Object.Unstructured)})
	for _, p := range w.in.Table.Products(s.Object.Unstructured) {
		made := provider{stage: s, made: true}
		if p.KeysKnown {
			made.keys = map[string]bool{}
			for _, k := range p.Keys {
				made.keys[k] = true
			}
		}
		w.providers[p.Object] = append(w.providers[p.Object], made)
	}
	if gk, ok := manifest.DefinesKind(s.Object.Unstructured); ok {
		w.defined[gk] = s
	}
	w.includePods(s)
	if s.Key.Kind == "HorizontalPodAutoscaler" || s.Key.Kind == "ScaledObject" {
		for _, ref := range manifest.References(s.Object.Unstructured) {
			if strings.HasPrefix(ref.Field, "spec.scaleTargetRef") {
				w.scaledBy[ref.Target] = append(w.scaledBy[ref.Target], s)
			}
		}
	}
}

// label is a label of Pods of a namespace.
type label struct{ namespace, key, value string }

// includePods indexes what a step has to do with Pods.
func (w *world) includePods(s *stage) {
	labels := podLabels(s)
	switch {
	case s.Key.Kind == "LimitRange":
		w.limits[s.Key.Namespace] = append(w.limits[s.Key.Namespace], s)
	case labels == nil:
		w.opaque[s.Key.Namespace] = w.opaque[s.Key.Namespace] || makesPods(s.group())
	case s.Key.Kind != "Job":
		w.peopled[s.Key.Namespace] = true
		for key, value := range labels {
			at := label{s.Key.Namespace, key, fmt.Sprint(value)}
			w.byLabel[at] = append(w.byLabel[at], s)
		}
	}
}

// dataKeys returns the keys of a ConfigMap or Secret, nil for other kinds.
func dataKeys(u *unstructured.Unstructured) map[string]bool {
	if u.GroupVersionKind().Group != "" || u.GetKind() != "ConfigMap" && u.GetKind() != "Secret" {
		return nil
	}
	keys := map[string]bool{}
	for _, part := range []string{"data", "stringData", "binaryData"} {
		for k := range field.Map(u.Object, part) {
			keys[k] = true
		}
	}
	return keys
}

// references returns what the object of a step mentions, in its namespace.
func (w *world) references(s *stage) []manifest.Reference {
	if list, ok := w.refs[s]; ok {
		return list
	}
	list := w.in.Table.References(s.Object.Unstructured)
	for _, key := range s.Outside {
		if len(w.providers[key]) > 0 {
			// What is said to come from others, and comes from here after all.
			list = append(list, manifest.Reference{Target: key, Declared: true, Field: manifest.NeedsField})
		}
	}
	w.refs[s] = list
	return list
}

// first returns the earliest step of an object.
func (w *world) first(k manifest.Key) (*stage, bool) {
	if list := w.byKey[k]; len(list) > 0 {
		return list[0], true
	}
	return nil, false
}

func (w *world) placeOf(k manifest.Key) string {
	if s, ok := w.first(k); ok {
		return s.place()
	}
	return ""
}

// live returns the object as it is before the rollout; known is false when that
// cannot be told.
func (w *world) live(k manifest.Key) (u *unstructured.Unstructured, known bool) {
	if w.in.Live == nil {
		return nil, false
	}
	return w.in.Live.Get(k)
}

// declared reports whether somebody vouches for an object that nobody renders.
func (w *world) declared(k manifest.Key) bool {
	return w.vouched[k] && len(w.providers[k]) == 0 || slices.ContainsFunc(w.in.External, func(e manifest.External) bool { return e.Pattern.Matches(k) })
}

// add adds a finding about the object of a step.
func (w *world) add(s *stage, f Finding) {
	f.Subject, f.Place = s.Key, s.place()
	if s.Object != nil {
		f.At = s.Object.Provenance
	}
	if f.Needs != (manifest.Key{}) {
		f.Related = append([]manifest.Key{f.Needs}, f.Related...)
	}
	w.found = append(w.found, f)
}

func problem(code string, severity diag.Severity, path, message, hint string) Finding {
	return Finding{Diagnostic: diag.Diagnostic{Code: code, Severity: severity, Field: path, Message: message, Hint: hint}}
}
