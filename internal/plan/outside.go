// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// CodeInvalidNeeds is the code of the finding that what an object needs from others
// cannot be read.
const CodeInvalidNeeds = "invalid-needs"

// await notes on each step what others have to bring before it, because its object
// or the repository says so.
func (b *builder) await() {
	stages := slices.Concat(b.plan.Groups, b.plan.OnDeletion)
	rendered := map[manifest.Key]bool{}
	for _, g := range stages {
		for _, s := range g.Steps {
			rendered[s.Key] = rendered[s.Key] || !s.Action.deletes()
		}
	}
	for _, g := range stages {
		for i := range g.Steps {
			if s := &g.Steps[i]; s.Object != nil && !s.Action.deletes() {
				b.awaitOn(s, g.Phase, rendered)
			}
		}
	}
}

// waitsOutside reports whether any step does.
func (b *builder) waitsOutside() bool {
	return slices.ContainsFunc(b.plan.Groups, func(g Group) bool {
		return slices.ContainsFunc(g.Steps, func(s Step) bool { return len(s.Outside) > 0 })
	})
}

func (b *builder) awaitOn(s *Step, phase manifest.Phase, rendered map[manifest.Key]bool) {
	var keys []manifest.Key
	needs, err := manifest.Needs(s.Object.Unstructured)
	b.unreadable(s, manifest.AnnotationNeeds, "what it needs", err)
	_, err = manifest.Produces(s.Object.Unstructured)
	b.unreadable(s, manifest.AnnotationProduces, "what comes of it", err)
	for _, n := range needs {
		keys = append(keys, b.locate(n, s.Key))
	}
	for _, e := range b.in.External {
		if e.NeedsIt(s.Key, phase) {
			keys = append(keys, b.locate(e.Object, s.Key))
		}
	}
	if len(b.in.External) > 0 && !b.in.Options.NoEffects {
		keys = append(keys, b.declared(s, rendered)...)
	}
	keys = slices.DeleteFunc(keys, func(k manifest.Key) bool { return k == s.Key })
	slices.SortFunc(keys, manifest.Key.Compare)
	s.Outside = slices.Compact(keys)
}

// unreadable reports an annotation that names objects and cannot be read.
func (b *builder) unreadable(s *Step, annotation, what string, err error) {
	if err == nil {
		return
	}
	b.find(diag.Diagnostic{
		Code: CodeInvalidNeeds, Severity: diag.Error, Subject: s.Key, Field: "metadata.annotations[" + annotation + "]", At: s.Object.Provenance,
		Message: fmt.Sprintf("%s in %s: %s cannot be read: %v", s.Key.Short(), where(s.Object.Provenance), what, err),
		Hint:    "write group/Kind/namespace/name, several with commas between them",
	})
}

// declared returns what a step mentions, cannot do without, and is said to come from
// elsewhere.
func (b *builder) declared(s *Step, rendered map[manifest.Key]bool) []manifest.Key {
	var keys []manifest.Key
	for _, ref := range manifest.References(s.Object.Unstructured) {
		if rendered[ref.Target] || !ref.Blocks(s.Object.Unstructured) || manifest.SyncOptions(s.Object.Unstructured).Has(noEffectGate) {
			continue
		}
		if slices.ContainsFunc(b.in.External, func(e manifest.External) bool { return e.Pattern.Matches(ref.Target) }) {
			keys = append(keys, ref.Target)
		}
	}
	return keys
}

// locate gives what is needed its namespace: the needer's if none was written.
func (b *builder) locate(n manifest.Need, by manifest.Key) manifest.Key {
	k := n.Key
	namespaced, _ := b.scope(k.GroupKind())
	switch {
	case !namespaced:
		k.Namespace = ""
	case n.Anywhere && by.Namespace != "":
		k.Namespace = by.Namespace
	case n.Anywhere:
		k.Namespace = b.in.Namespace
	}
	return k
}
