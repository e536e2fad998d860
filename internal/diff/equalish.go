// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Equalish reports that live is in sync with desired, as far as that can be known
// without the API server. It errs only towards false: the caller then asks the
// server.
//
// The answer rests on field ownership. When Wavetrain applied an object, its
// entry in managedFields lists exactly the fields it set; when somebody else
// changes one of them, they take it away. So the object is in sync if that list
// is what desired sets now, neither more nor less, and the values agree.
func Equalish(desired, live *unstructured.Unstructured, opts Options) bool {
	if desired == nil || live == nil || desired.GetAPIVersion() != live.GetAPIVersion() || live.GetDeletionTimestamp() != nil {
		return false
	}
	owned, err := ReadOwnership(opts.managedFields(live))
	if err != nil || owned.superseded() {
		return false
	}
	set, version := owned.applied(opts.manager())
	if set == nil || version != desired.GetAPIVersion() {
		return false
	}
	rules := rulesFor(live, opts)
	if owned.names(rules.managers) || len(rules.deletions) > 0 {
		return false
	}
	m := matcher{rules: rules, filler: filler{builtin: builtin(desired), ours: true}, seen: fieldpath.NewSet()}
	return m.object(opts.normalize(desired).Object, live.Object, set) && m.onlySeen(set)
}

// matcher walks desired and live along the fields that we own.
type matcher struct {
	rules  rules
	filler filler
	// seen collects the owned fields that desired still sets.
	seen *fieldpath.Set
}

func (m *matcher) object(desired, live map[string]any, set *fieldpath.Set) bool {
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		switch name {
		case "apiVersion", "kind":
			continue
		case "metadata":
			if !m.metadata(desired, live, set) {
				return false
			}
		default:
			if !m.field(place{}, name, desired, live, set) {
				return false
			}
		}
	}
	return true
}

func (m *matcher) metadata(desired, live map[string]any, set *fieldpath.Set) bool {
	want, _ := desired["metadata"].(map[string]any)
	have, _ := live["metadata"].(map[string]any)
	pe := fieldpath.FieldNameElement("metadata")
	below, ok := set.Children.Get(pe)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch name {
		case "name", "namespace", "generateName":
			continue
		}
		if !ok || !m.field(place{}.child("metadata", pe), name, want, have, below) {
			return false
		}
	}
	return true
}

// place is where the walk stands: for people, as JSON pointer and as field path.
type place struct {
	path    path
	pointer []string
	fields  fieldpath.Path
}

func (p place) child(name string, pe fieldpath.PathElement) place {
	return place{
		path:    p.path.field(name),
		pointer: append(slices.Clip(p.pointer), name),
		fields:  append(slices.Clip(p.fields), pe),
	}
}

func (p place) item(pe fieldpath.PathElement) place {
	return place{
		path:    p.path.index(0),
		pointer: append(slices.Clip(p.pointer), "*"),
		fields:  append(slices.Clip(p.fields), pe),
	}
}

func (m *matcher) field(at place, name string, desired, live map[string]any, set *fieldpath.Set) bool {
	pe := fieldpath.FieldNameElement(name)
	p := at.child(name, pe)
	if m.rules.ignore(p.pointer) {
		return true
	}
	below, _ := set.Children.Get(pe)
	return m.value(p, desired[name], live[name], set.Members.Has(pe), below)
}

// value compares one field. Whole says that we own the field as such, below what
// we own inside it.
func (m *matcher) value(p place, desired, live any, whole bool, below *fieldpath.Set) bool {
	inside := below != nil && !below.Empty()
	if whole {
		m.seen.Insert(p.fields)
	}
	switch d := desired.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		switch {
		case len(d) == 0:
			return whole && (ok || live == nil)
		case !ok:
			return false
		case inside:
			for _, name := range slices.Sorted(maps.Keys(d)) {
				if !m.field(p, name, d, l, below) {
					return false
				}
			}
			return true
		default:
			return whole && contains(p.path, d, l, m.filler)
		}
	case []any:
		l, ok := live.([]any)
		switch {
		case len(d) == 0:
			return whole && (ok && len(l) == 0 || live == nil)
		case !ok:
			return false
		case inside:
			return m.items(p, d, l, below)
		default:
			return whole && contains(p.path, d, l, m.filler)
		}
	case nil:
		// A null that we own was filled in by the server's default.
		return whole || live == nil
	default:
		return whole && equalScalar(p.path, desired, live)
	}
}

// items compares an associative list: a set of scalars or items with keys.
func (m *matcher) items(p place, desired, live []any, below *fieldpath.Set) bool {
	for _, want := range desired {
		pe, ok := ownedElement(below, want, desired)
		if !ok {
			return false
		}
		i := slices.IndexFunc(live, func(item any) bool { return selects(pe, item) })
		if i < 0 {
			return false
		}
		at := p.item(pe)
		member := below.Members.Has(pe)
		if member {
			m.seen.Insert(at.fields)
		}
		d, isMap := want.(map[string]any)
		if !isMap {
			if !member {
				return false
			}
			continue
		}
		l, _ := live[i].(map[string]any)
		inside, _ := below.Children.Get(pe)
		if inside == nil {
			inside = fieldpath.NewSet()
		}
		for _, name := range slices.Sorted(maps.Keys(d)) {
			if !m.field(at, name, d, l, inside) {
				return false
			}
		}
	}
	return m.order(desired, live, below)
}

// ownedElement finds the element of an associative list under which we own an
// item of desired. A key field that the item leaves to the server's default
// matches if only one element does that no other item names.
func ownedElement(below *fieldpath.Set, want any, all []any) (fieldpath.PathElement, bool) {
	var exact, loose []fieldpath.PathElement
	for _, elements := range []func(func(fieldpath.PathElement) bool){below.Members.All(), below.Children.All()} {
		for pe := range elements {
			switch {
			case selects(pe, want):
				exact = appendNew(exact, pe)
			case selectsLoosely(pe, want) && times(all, pe, selects) == 0:
				loose = appendNew(loose, pe)
			}
		}
	}
	if len(exact) == 1 {
		return exact[0], times(all, exact[0], selects) == 1
	}
	if len(exact) == 0 && len(loose) == 1 {
		return loose[0], times(all, loose[0], selectsLoosely) == 1
	}
	return fieldpath.PathElement{}, false
}

func appendNew(list []fieldpath.PathElement, pe fieldpath.PathElement) []fieldpath.PathElement {
	if slices.ContainsFunc(list, pe.Equals) {
		return list
	}
	return append(list, pe)
}

func times(list []any, pe fieldpath.PathElement, match func(fieldpath.PathElement, any) bool) int {
	n := 0
	for _, item := range list {
		if match(pe, item) {
			n++
		}
	}
	return n
}

// order reports whether the items of desired stand in live in the same order,
// which matters for init containers and environment variables.
func (m *matcher) order(desired, live []any, below *fieldpath.Set) bool {
	last := -1
	for _, want := range desired {
		pe, _ := ownedElement(below, want, desired)
		i := slices.IndexFunc(live, func(item any) bool { return selects(pe, item) })
		if i < last {
			return false
		}
		last = i
	}
	return true
}

// onlySeen reports whether desired sets every field that we own, ignored ones
// aside.
func (m *matcher) onlySeen(set *fieldpath.Set) bool {
	only := true
	set.Difference(m.seen).Iterate(func(p fieldpath.Path) {
		only = only && (m.rules.ignore(pointerOf(p)) || parentOf(p, m.seen))
	})
	return only
}

// parentOf reports whether seen holds a field below p: owning a map besides its
// entries says nothing of its own.
func parentOf(p fieldpath.Path, seen *fieldpath.Set) bool {
	at := seen
	for _, pe := range p {
		next, ok := at.Children.Get(pe)
		if !ok {
			return false
		}
		at = next
	}
	return !at.Empty()
}

func pointerOf(p fieldpath.Path) []string {
	tokens := make([]string, len(p))
	for i, pe := range p {
		tokens[i] = "*"
		if pe.FieldName != nil {
			tokens[i] = *pe.FieldName
		}
	}
	return tokens
}

// ignore reports whether a rule names this field or one above it. Items of lists
// ("*") are not told apart by position here, so a rule that selects one by its
// index ignores nothing and the server is asked.
func (r rules) ignore(pointer []string) bool {
	return slices.ContainsFunc(r.pointers, func(rule []string) bool {
		return len(rule) <= len(pointer) && slices.Equal(rule, pointer[:len(rule)])
	})
}

// contains reports whether live is what comes of desired in a field owned as a
// whole: it holds everything that desired sets, and beside that only what the
// server fills in.
func contains(p path, desired, live any, f filler) bool {
	if live == nil {
		return empty(desired) && f.ours || f.leavesOut(p, desired)
	}
	switch d := desired.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return false
		}
		return containsFields(p, d, l, f)
	case []any:
		l, ok := live.([]any)
		if !ok || len(l) != len(d) {
			return false
		}
		for i := range d {
			if !contains(p.index(i), d[i], l[i], f.item()) {
				return false
			}
		}
		return true
	default:
		return equalScalar(p, desired, live)
	}
}

func containsFields(p path, desired, live map[string]any, f filler) bool {
	for name, v := range desired {
		if !contains(p.field(name), v, live[name], f.field(name)) {
			return false
		}
	}
	for name, v := range live {
		if _, set := desired[name]; !set && !f.fills(p.field(name), v) {
			return false
		}
	}
	return true
}

// equalScalar compares a value that we own. One that typed objects leave out may
// be missing: had somebody else removed it, we would not own it.
func equalScalar(p path, desired, live any) bool {
	return live == nil && empty(desired) || sameScalar(desired, live) || p.holdsQuantity() && sameQuantity(desired, live)
}
