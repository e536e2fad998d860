// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Predict says without the API server what live would become if desired were
// applied: the fields of desired over those of live, less what Wavetrain owns
// there and desired no longer has. Values that typed objects leave out (false, 0,
// "", empty lists and maps) do not count as set.
func Predict(desired, live *unstructured.Unstructured, opts Options) *unstructured.Unstructured {
	return merge(desired, live, opts, merger{})
}

// Merge returns live with everything that desired sets, empty values included,
// and without what Wavetrain set before and desired no longer has: the body of an
// update for objects that cannot be applied server-side.
func Merge(desired, live *unstructured.Unstructured, opts Options) *unstructured.Unstructured {
	return merge(desired, live, opts, merger{exact: true})
}

func merge(desired, live *unstructured.Unstructured, opts Options, m merger) *unstructured.Unstructured {
	want := opts.normalize(desired)
	out := live.DeepCopy()
	labels := inherited(desired, live)
	if owned, err := ReadOwnership(opts.managedFields(live)); err == nil {
		for _, e := range owned.entries {
			if e.Subresource == "" && (e.Manager == opts.manager() || Superseded(e.ManagedFieldsEntry)) {
				dropUnset(e.ManagedFieldsEntry, out.Object, want.Object, e.set)
			}
		}
	}
	if labels != nil {
		out.SetLabels(labels)
	}
	out.Object, _ = m.value(nil, out.Object, want.Object).(map[string]any)
	return out
}

// inherited returns the labels of a live object that the server took from its
// Pod template, because the manifest has none; nil if that is not so.
func inherited(desired, live *unstructured.Unstructured) map[string]string {
	switch live.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "batch", Kind: "Job"}, schema.GroupKind{Kind: "ReplicationController"}:
		if len(desired.GetLabels()) == 0 {
			return live.GetLabels()
		}
	}
	return nil
}

type merger struct {
	// exact keeps empty values and desired's order of items.
	exact bool
}

func (m merger) value(p path, live, want any) any {
	switch w := want.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			l = map[string]any{}
		}
		for name, v := range w {
			switch {
			case v == nil && m.exact:
				// What null means is the server's to say: an empty text in a map of
				// texts, the default or nothing elsewhere.
				l[name] = nil
			case v == nil:
				// The server fills a default in, which live has.
			case !m.exact && empty(v) && l[name] == nil:
			default:
				l[name] = m.value(p.field(name), l[name], v)
			}
		}
		return l
	case []any:
		l, _ := live.([]any)
		return m.list(p, l, w)
	default:
		if sameScalar(live, want) || p.holdsQuantity() && sameQuantity(live, want) {
			return live
		}
		return want
	}
}

func (m merger) list(p path, live, want []any) []any {
	keys := keysOf(live, want)
	if keys == nil {
		if len(live) == len(want) && allMaps(live) && allMaps(want) {
			out := make([]any, len(want))
			for i := range want {
				out[i] = m.value(p.index(i), live[i], want[i])
			}
			return out
		}
		return want
	}
	merged := map[string]any{}
	var added, order []string
	for _, item := range want {
		id, _ := identity(item, keys)
		order = append(order, id)
		old, ok := find(live, keys, id)
		if !ok {
			added = append(added, id)
			merged[id] = m.value(p.key(keys, item.(map[string]any)), nil, item)
			continue
		}
		merged[id] = m.value(p.key(keys, old), old, item)
	}
	liveOrder := orderOf(live, keys)
	common := slices.DeleteFunc(slices.Clone(liveOrder), func(id string) bool { return merged[id] == nil })
	kept := slices.DeleteFunc(slices.Clone(order), func(id string) bool { return slices.Contains(added, id) })
	if !m.exact && slices.Equal(common, kept) {
		order = append(slices.Clone(liveOrder), added...)
	} else {
		order = append(order, slices.DeleteFunc(liveOrder, func(id string) bool { return merged[id] != nil })...)
	}
	out := make([]any, 0, len(order))
	for _, id := range order {
		if merged[id] != nil {
			out = append(out, merged[id])
		} else if item, ok := find(live, keys, id); ok {
			out = append(out, item)
		}
	}
	return out
}

// dropUnset removes from live what the field set names and want does not have.
// Fields of an Update entry include everything the server defaulted at that
// write, so of those only items of maps and lists whose names people choose are
// removed: labels, annotations, data, containers and the like.
func dropUnset(e metav1.ManagedFieldsEntry, live, want map[string]any, set *fieldpath.Set) {
	chosen := e.Operation == metav1.ManagedFieldsOperationUpdate
	dropFields(live, want, set, chosen, "")
}

func dropFields(live, want map[string]any, set *fieldpath.Set, chosen bool, parent string) {
	for pe := range set.Members.All() {
		if pe.FieldName == nil {
			continue
		}
		name := *pe.FieldName
		if _, ok := want[name]; !ok && removable(chosen, parent) {
			if child, has := set.Children.Get(pe); !has || child.Empty() {
				delete(live, name)
			}
		}
	}
	for pe := range set.Children.All() {
		if pe.FieldName == nil {
			continue
		}
		name := *pe.FieldName
		child, _ := set.Children.Get(pe)
		switch l := live[name].(type) {
		case map[string]any:
			w, _ := want[name].(map[string]any)
			dropFields(l, w, child, chosen, name)
			if w == nil && len(l) == 0 {
				delete(live, name)
			}
		case []any:
			w, _ := want[name].([]any)
			live[name] = dropItems(l, w, child, chosen)
			if rest, _ := live[name].([]any); w == nil && len(rest) == 0 {
				delete(live, name)
			}
		}
	}
}

func removable(chosen bool, parent string) bool {
	if !chosen {
		return true
	}
	switch parent {
	case "labels", "annotations", "data", "binaryData", "matchLabels", "nodeSelector", "limits", "requests":
		return true
	default:
		return false
	}
}

func dropItems(live, want []any, set *fieldpath.Set, chosen bool) []any {
	out := make([]any, 0, len(live))
	for _, item := range live {
		owned, wanted := false, any(nil)
		for pe := range set.Members.All() {
			owned = owned || selects(pe, item)
		}
		var below *fieldpath.Set
		for pe := range set.Children.All() {
			if selects(pe, item) {
				below, _ = set.Children.Get(pe)
				wanted = matching(pe, want)
			}
		}
		for pe := range set.Members.All() {
			if wanted == nil && selects(pe, item) {
				wanted = matching(pe, want)
			}
		}
		if owned && wanted == nil {
			continue
		}
		if l, ok := item.(map[string]any); ok && below != nil {
			if w, ok := wanted.(map[string]any); ok {
				dropFields(l, w, below, chosen, "")
			}
		}
		out = append(out, item)
	}
	return out
}

// matching returns the item of list that a path element names; a key field that
// an item leaves out (a defaulted protocol) matches any value.
func matching(pe fieldpath.PathElement, list []any) any {
	for _, item := range list {
		if selects(pe, item) || selectsLoosely(pe, item) {
			return item
		}
	}
	return nil
}

func selectsLoosely(pe fieldpath.PathElement, item any) bool {
	m, ok := item.(map[string]any)
	if !ok || pe.Key == nil {
		return false
	}
	hit := false
	for _, f := range *pe.Key {
		v, ok := m[f.Name]
		if ok && !sameScalar(f.Value.Unstructured(), v) {
			return false
		}
		hit = hit || ok
	}
	return hit
}
