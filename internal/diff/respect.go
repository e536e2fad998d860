// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Respect returns desired with the ignored fields as they are on live, so that
// applying it leaves them alone. Shared says that it will be applied by field
// ownership (server-side): a field that only others own is then left out, which
// leaves it to them even when they change it at the same moment.
func Respect(desired, live *unstructured.Unstructured, opts Options, shared bool) *unstructured.Unstructured {
	if live == nil {
		return desired
	}
	rules := rulesFor(live, opts)
	if len(rules.pointers)+len(rules.managers)+len(rules.deletions) == 0 {
		return desired
	}
	// Without readable entries nobody is known to own anything.
	owned, _ := ReadOwnership(opts.managedFields(live))
	r := respecter{managers: rules.managers, shared: shared, own: []string{opts.manager()}}
	for _, e := range owned.entries {
		if Superseded(e.ManagedFieldsEntry) {
			r.own = append(r.own, e.Manager)
		}
	}
	was, want := opts.bare(live), opts.normalize(desired)
	rest := was.DeepCopy()
	rules.removeFrom(rest)
	rules.removeFrom(want)
	r.fields(want.Object, was.Object, rest.Object, owned.root())
	return want
}

// respecter puts ignored fields back. It walks three trees side by side: what is
// wanted, what is there, and what of that is not ignored.
type respecter struct {
	// own are the managers whose fields are or become ours.
	own, managers []string
	shared        bool
}

// keeps reports whether an ignored field has to be sent to stay as it is.
func (r respecter) keeps(owned owners) bool {
	return !r.shared || slices.ContainsFunc(owned, func(n ownerNode) bool { return slices.Contains(r.own, n.manager) })
}

// left reports whether a field is left to one of the managers that the rules
// name.
func (r respecter) left(owned owners) bool {
	return slices.ContainsFunc(owned, func(n ownerNode) bool { return slices.Contains(r.managers, n.manager) })
}

func (r respecter) put(want map[string]any, name string, live any, owned owners) {
	if r.keeps(owned) {
		want[name] = live
	} else {
		delete(want, name)
	}
}

func (r respecter) fields(want, was, rest map[string]any, owned owners) {
	for _, name := range slices.Sorted(maps.Keys(was)) {
		live, below := was[name], owned.field(name)
		kept, ok := rest[name]
		if !ok {
			r.put(want, name, live, below)
			continue
		}
		switch l := live.(type) {
		case map[string]any:
			k, _ := kept.(map[string]any)
			w, has := want[name].(map[string]any)
			if !has {
				w = map[string]any{}
			}
			if r.fields(w, l, k, below); has || len(w) > 0 && want[name] == nil {
				want[name] = w
			}
		case []any:
			k, _ := kept.([]any)
			r.list(want, name, l, k, below)
		default:
			if _, wanted := want[name]; wanted && r.left(below) {
				r.put(want, name, live, below)
			}
		}
	}
}

// list puts back what is ignored in a list. Items that cannot be told apart are
// taken over as they are, all of them.
func (r respecter) list(want map[string]any, name string, was, rest []any, owned owners) {
	unchanged := same(was, rest)
	if unchanged && len(r.managers) == 0 {
		return
	}
	wanted, _ := want[name].([]any)
	keys := keysOf(was, wanted)
	if keys == nil || !unique(rest, keys) {
		if !unchanged {
			r.put(want, name, was, owned)
		}
		return
	}
	out := slices.Clone(wanted)
	for _, item := range was {
		id, _ := identity(item, keys)
		kept, isKept := find(rest, keys, id)
		i := slices.IndexFunc(out, func(w any) bool { got, ok := identity(w, keys); return ok && got == id })
		below := owned.item(item)
		switch {
		case !isKept && i >= 0:
			out[i] = item
		case !isKept && r.keeps(below):
			out = append(out, item)
		case isKept && i >= 0:
			r.fields(out[i].(map[string]any), item.(map[string]any), kept, below)
		}
	}
	if len(out) > 0 {
		want[name] = out
	}
}
