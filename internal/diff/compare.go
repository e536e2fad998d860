// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Change is one field in which a live object differs from what is wanted.
type Change struct {
	// Path is the field, "spec.template.spec.containers[name=app].image"; empty
	// when the whole object is missing or superfluous.
	Path string `json:"path"`
	// Desired and Live are the field's values; nil for a field that is not there.
	// Values of Secrets are replaced by Hidden.
	Desired any `json:"desired"`
	Live    any `json:"live"`
	// Manager owns the field on the live object, empty if nobody does.
	Manager string `json:"manager,omitempty"`
}

// Deletion takes fields out of an object; what it is given stays as it is.
type Deletion interface {
	From(obj map[string]any) (map[string]any, error)
}

// Options control a comparison.
type Options struct {
	// Manager applies the desired state. Defaults to manifest.FieldManager.
	Manager string
	// ManagedFields of the live object, for callers that keep them apart from it.
	// Defaults to those on the object.
	ManagedFields []metav1.ManagedFieldsEntry
	// Ignore are the application's rules; those that do not select the object are
	// passed over.
	Ignore []v1alpha1.ResourceIgnoreDifferences
	// Deletions carry out the jq expressions of Ignore; one that is not among them
	// ignores nothing.
	Deletions map[string]Deletion
	// KnownTypes are fields of custom resources whose values are compared as values
	// of a type.
	KnownTypes []KnownType
	// Status says of which kinds the status is left out.
	Status StatusField
	// TakesOver says that the apply that is foretold takes over what superseded
	// tools own, which a dry run alone does not show.
	TakesOver bool
	// Mutations keeps differences in fields that Wavetrain does not own: what
	// admission or defaulting adds because of another change. By default they are
	// left out, as they would not be there without that change.
	Mutations bool
}

func (o Options) manager() string {
	if o.Manager != "" {
		return o.Manager
	}
	return manifest.FieldManager
}

func (o Options) managedFields(live *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	if o.ManagedFields != nil || live == nil {
		return o.ManagedFields
	}
	return live.GetManagedFields()
}

// Compare lists the fields in which live differs from what is wanted, in the
// order of their paths. An object that is missing on either side is one change
// with an empty path.
//
// Predicted is the object that a server-side dry run of desired gave. Without it
// the prediction is made locally, which is exact for the fields that desired
// sets, but cannot know how the server treats a value it rewrites.
func Compare(desired, live, predicted *unstructured.Unstructured, opts Options) []Change {
	switch {
	case desired == nil && live == nil:
		return nil
	case desired == nil:
		return []Change{{Live: Redact(opts.bare(live)).Object}}
	case live == nil:
		return []Change{{Desired: Redact(opts.normalize(desired)).Object}}
	}
	d, was, want := sides(desired, live, predicted, opts)
	// An unreadable managedFields entry only costs the names of the owners.
	owned, _ := ReadOwnership(opts.managedFields(live))
	d.value(nil, was.Object, want.Object, owned.root(), d.after)
	changes := d.changes
	if isSecret(live) || isSecret(desired) {
		redactChanges(changes)
	}
	return changes
}

// Sides returns the two states that Compare looks at for an object that exists:
// as it is and as it would be, without what is ignored.
func Sides(desired, live, predicted *unstructured.Unstructured, opts Options) (was, want *unstructured.Unstructured) {
	_, was, want = sides(desired, live, predicted, opts)
	return was, want
}

func sides(desired, live, predicted *unstructured.Unstructured, opts Options) (d differ, was, want *unstructured.Unstructured) {
	local := predicted == nil
	if local {
		predicted = Predict(desired, live, opts)
	}
	rules := rulesFor(live, opts)
	was, want = opts.bare(live), opts.bare(predicted)
	if aggregated(want) {
		// The aggregation controller writes them, whatever anybody else says.
		delete(was.Object, "rules")
		delete(want.Object, "rules")
	}
	rules.removeFrom(was)
	rules.removeFrom(want)
	rewrite(was, opts.KnownTypes)
	rewrite(want, opts.KnownTypes)
	d = differ{own: opts.manager(), ours: []string{opts.manager()}, managers: rules.managers}
	if local {
		return d, was, want
	}
	if opts.TakesOver {
		owned, _ := ReadOwnership(opts.managedFields(live))
		desired := opts.normalize(desired)
		rules.removeFrom(desired)
		d.ours = append(d.ours, owned.takeOver(want.Object, desired.Object, SupersededOn(live, opts.manager()), opts.manager())...)
	}
	if !opts.Mutations {
		if after, err := ReadOwnership(predicted.GetManagedFields()); err == nil && len(after.entries) > 0 {
			d.relevant = true
			d.after = after.root()
		}
	}
	return d, was, want
}

// differ collects the differences of two trees.
type differ struct {
	changes []Change
	own     string
	// ours are the managers whose fields count as own.
	ours []string
	// managers whose fields are ignored.
	managers []string
	// relevant restricts changes to fields that are or will be ours.
	relevant bool
	after    owners
}

func (d *differ) value(p path, live, want any, owned, after owners) {
	switch l := live.(type) {
	case map[string]any:
		if w, ok := want.(map[string]any); ok {
			d.maps(p, l, w, owned, after)
			return
		}
	case []any:
		if w, ok := want.([]any); ok {
			d.lists(p, l, w, owned, after)
			return
		}
	}
	if !same(live, want) {
		d.report(p, live, want, owned, after)
	}
}

func (d *differ) maps(p path, live, want map[string]any, owned, after owners) {
	names := slices.Sorted(maps.Keys(live))
	for name := range want {
		if _, ok := live[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		d.value(p.field(name), live[name], want[name], owned.field(name), after.field(name))
	}
}

func (d *differ) lists(p path, live, want []any, owned, after owners) {
	keys := keysOf(live, want)
	if keys == nil {
		if len(live) == len(want) && len(live) > 0 && allMaps(live) && allMaps(want) {
			for i := range live {
				d.value(p.index(i), live[i], want[i], owned.item(live[i]), after.item(want[i]))
			}
		} else if !same(live, want) {
			d.report(p, live, want, owned, after)
		}
		return
	}
	for _, item := range live {
		l := item.(map[string]any)
		id, _ := identity(l, keys)
		var wanted any
		// To the API server the item may be another one by now: a port by its number.
		becomes := l
		if w, ok := find(want, keys, id); ok {
			wanted, becomes = w, w
		}
		d.value(p.key(keys, l), l, wanted, owned.item(l), after.item(becomes))
	}
	for _, item := range want {
		w := item.(map[string]any)
		id, _ := identity(w, keys)
		if _, ok := find(live, keys, id); !ok {
			d.value(p.key(keys, w), nil, w, owned.item(w), after.item(w))
		}
	}
	if order := orderOf(live, keys); len(live) == len(want) && !slices.Equal(order, orderOf(want, keys)) && sameMembers(live, want, keys) {
		d.report(p, live, want, owned, after)
	}
}

func allMaps(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool { _, ok := v.(map[string]any); return !ok })
}

func orderOf(list []any, keys []string) []string {
	order := make([]string, len(list))
	for i, item := range list {
		order[i], _ = identity(item, keys)
	}
	return order
}

// sameMembers reports whether the lists hold equal items, in whatever order.
func sameMembers(live, want []any, keys []string) bool {
	for _, item := range live {
		id, _ := identity(item, keys)
		if w, ok := find(want, keys, id); !ok || !same(item, w) {
			return false
		}
	}
	return true
}

func (d *differ) report(p path, live, want any, owned, after owners) {
	manager := owned.manager(d.own)
	if slices.ContainsFunc(owned, func(n ownerNode) bool { return n.whole && slices.Contains(d.managers, n.manager) }) || slices.Contains(d.managers, manager) {
		return
	}
	if d.relevant && !slices.ContainsFunc(d.ours, func(m string) bool { return owned.has(m) || after.has(m) }) {
		return
	}
	d.changes = append(d.changes, Change{Path: p.String(), Desired: want, Live: live, Manager: manager})
}
