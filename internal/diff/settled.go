// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Settled reports that applying desired would leave live as it is, as far as that
// follows from what the API server publishes about the kind: it merges the two as
// the server does and looks whether anything comes out that is not there. Like
// Equalish it errs only towards false, but it does not need us to own what we
// want: it also knows objects that others applied, or that somebody changed and
// changed back.
//
// Shared says that the object is applied by field ownership (server-side).
func Settled(desired, live *unstructured.Unstructured, opts Options, shared bool, s *Schema) bool {
	m, ok := mergeOf(desired, live, opts, shared, s)
	return ok && len(m.unexplained()) == 0
}

// merging is what applying a desired object would bring, by what is published about
// its kind.
type merging struct {
	explainer

	// brought are the fields that are not there, or not like that.
	brought *fieldpath.Set
}

// mergeOf merges desired into live; false if the schema does not tell what comes
// out, or if anything disappears.
func mergeOf(desired, live *unstructured.Unstructured, opts Options, shared bool, s *Schema) (merging, bool) {
	if s == nil || desired == nil || live == nil || desired.GetAPIVersion() != live.GetAPIVersion() || live.GetDeletionTimestamp() != nil || opts.Mutations {
		return merging{}, false
	}
	owned, err := ReadOwnership(opts.managedFields(live))
	if err != nil || owned.names(rulesFor(live, opts).managers) {
		return merging{}, false
	}
	local := opts
	local.TakesOver = false
	_, was, want := sides(desired, live, desired, local)
	withoutNulls(want.Object, was.Object)
	if hasNull(want.Object) || !owned.keepsAll(was, want, live, opts, shared) {
		return merging{}, false
	}
	have, err := s.typed(was)
	if err != nil {
		return merging{}, false
	}
	wanted, err := s.typed(want)
	if err != nil {
		return merging{}, false
	}
	set, version := owned.applied(opts.manager())
	if shared && set != nil {
		fields, err := wanted.ToFieldSet()
		if err != nil || version != desired.GetAPIVersion() || owned.leavesBehind(set, fields, was.Object, opts) {
			return merging{}, false
		}
	}
	merged, err := have.Merge(wanted)
	if err != nil {
		return merging{}, false
	}
	changes, err := have.Compare(merged)
	if err != nil || !changes.Removed.Empty() {
		return merging{}, false
	}
	return merging{
		explainer: explainer{
			was: was.Object, want: want.Object, ours: set,
			filler: filler{builtin: builtin(desired), types: wanted.Schema(), at: wanted.TypeRef()},
		},
		brought: changes.Added.Union(changes.Modified),
	}, true
}

// unexplained are the fields that would come out otherwise.
func (m merging) unexplained() []fieldpath.Path {
	var paths []fieldpath.Path
	m.brought.Iterate(func(p fieldpath.Path) {
		if !m.one(p) {
			paths = append(paths, slices.Clone(p))
		}
	})
	return paths
}

// withoutNulls takes nulls out of want that stand for what is not there.
func withoutNulls(want, was map[string]any) {
	for name, v := range want {
		live := was[name]
		if v == nil && live == nil {
			delete(want, name)
			continue
		}
		below, ok := v.(map[string]any)
		if l, both := live.(map[string]any); ok && both {
			withoutNulls(below, l)
		}
	}
}

// hasNull reports whether a null is anywhere in v: what it stands for is the
// server's to say.
func hasNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		for _, field := range v {
			if hasNull(field) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasNull)
	}
	return false
}

// keepsAll reports whether nothing disappears that tools wrote which Wavetrain
// replaces, or that it wrote itself by an update.
func (o Ownership) keepsAll(was, want, live *unstructured.Unstructured, opts Options, shared bool) bool {
	if shared && !opts.TakesOver {
		return true
	}
	was = withoutEmptyAnnotations(was)
	rest := was.DeepCopy()
	superseded := SupersededOn(live, opts.manager())
	if shared {
		o.takeOver(rest.Object, want.Object, superseded, opts.manager())
		return same(rest.Object, was.Object)
	}
	if text, ok := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; ok && !o.sameAsLast(text, want, opts) {
		return false
	}
	for _, e := range o.entries {
		if e.Subresource == "" && (e.Manager == opts.manager() || Superseded(e.ManagedFieldsEntry)) {
			dropUnset(e.ManagedFieldsEntry, rest.Object, want.Object, e.set)
		}
	}
	if labels := inherited(want, was); labels != nil {
		rest.SetLabels(labels)
	}
	return same(rest.Object, was.Object)
}

// withoutEmptyAnnotations returns the object without annotations if there are
// none, as they are left when what tools wrote there for themselves is taken out.
func withoutEmptyAnnotations(u *unstructured.Unstructured) *unstructured.Unstructured {
	annotations, ok, err := unstructured.NestedMap(u.Object, "metadata", "annotations")
	if !ok || err != nil || len(annotations) > 0 {
		return u
	}
	u = u.DeepCopy()
	unstructured.RemoveNestedField(u.Object, "metadata", "annotations")
	return u
}

// sameAsLast reports whether what was applied client-side last is what is wanted
// now, so that nothing was dropped in between.
func (o Ownership) sameAsLast(text string, want *unstructured.Unstructured, opts Options) bool {
	last := &unstructured.Unstructured{}
	if json.Unmarshal([]byte(text), &last.Object) != nil {
		return false
	}
	rules := rulesFor(want, opts)
	last = opts.bare(last)
	rules.removeFrom(last)
	rewrite(last, opts.KnownTypes)
	return same(last.Object, want.Object)
}

// leavesBehind reports whether the object has a field that we applied, that is no
// longer wanted, and that nobody else owns: applying would remove it.
func (o Ownership) leavesBehind(ours, wanted *fieldpath.Set, was map[string]any, opts Options) bool {
	others := fieldpath.NewSet()
	for _, e := range o.entries {
		if e.Manager != opts.manager() || e.Operation != metav1.ManagedFieldsOperationApply {
			others = others.Union(e.set)
		}
	}
	rules, behind := rulesFor(&unstructured.Unstructured{Object: was}, opts), false
	ours.Difference(wanted).Difference(others).Iterate(func(p fieldpath.Path) {
		if behind || rules.ignore(pointerOf(p)) || parentOf(p, wanted) {
			return
		}
		behind = valueAt(was, p) != nil
	})
	return behind
}

// explainer knows the changes that a merge brings and a server does not: another
// way of writing a value, and values that typed objects leave out.
type explainer struct {
	was, want map[string]any
	// ours are the fields that we applied; nil if there are none.
	ours   *fieldpath.Set
	filler filler
}

func (e explainer) one(p fieldpath.Path) bool {
	live, want := valueAt(e.was, p), valueAt(e.want, p)
	at, filler := pathOf(p), e.filler.along(p)
	if live == nil {
		// One that typed objects leave out may be missing: had somebody else removed
		// it, we would not own it.
		return e.ours != nil && e.ours.Has(p) && empty(want) || filler.leavesOut(at, want)
	}
	switch want.(type) {
	case map[string]any, []any:
		// A whole whose parts the server completed.
		return contains(at, want, live, filler)
	}
	return sameScalar(want, live) || at.holdsQuantity() && sameQuantity(want, live) || sameTime(want, live)
}

// sameTime reports whether two texts are one moment.
func sameTime(a, b any) bool {
	x, okX := a.(string)
	y, okY := b.(string)
	if !okX || !okY {
		return false
	}
	s, err := time.Parse(time.RFC3339Nano, x)
	if err != nil {
		return false
	}
	t, err := time.Parse(time.RFC3339Nano, y)
	return err == nil && s.Equal(t)
}

// valueAt returns what lies at a path, nil for nothing.
func valueAt(root any, p fieldpath.Path) any {
	at := root
	for _, pe := range p {
		switch v := at.(type) {
		case map[string]any:
			if pe.FieldName == nil {
				return nil
			}
			at = v[*pe.FieldName]
		case []any:
			if pe.Index != nil {
				if *pe.Index < 0 || *pe.Index >= len(v) {
					return nil
				}
				at = v[*pe.Index]
				continue
			}
			at = matching(pe, v)
		default:
			return nil
		}
	}
	return at
}

func pathOf(p fieldpath.Path) path {
	var out path
	for _, pe := range p {
		if pe.FieldName != nil {
			out = out.field(*pe.FieldName)
		} else {
			out = out.index(0)
		}
	}
	return out
}
