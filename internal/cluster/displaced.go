// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Somebody who changes the key of a list item, such as the number of a port, makes
// another item of it, which is theirs. What is wanted then stands beside it, and
// the API server refuses the two: they have one name, or lack one each. Such an
// item of others is in the place of ours and has to go with the same write.

// collision is what the API server refuses about the items of a list.
type collision struct {
	// list is the path of the list, without the items that it leads through.
	list string
	// field of the items: it is the same in several of them or, if not, missing.
	field string
	same  bool
}

// collisions reads the refusal of a write.
func collisions(err error) []collision {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	item := regexp.MustCompile(`^(.+)\[\d+\]\.(\w+)$`)
	within := regexp.MustCompile(`\[\d+\]`)
	var found []collision
	for _, cause := range status.Status().Details.Causes {
		same := cause.Type == metav1.CauseTypeFieldValueDuplicate
		if m := item.FindStringSubmatch(cause.Field); m != nil && (same || cause.Type == metav1.CauseTypeFieldValueRequired) {
			found = append(found, collision{list: within.ReplaceAllString(m[1], ""), field: m[2], same: same})
		}
	}
	return found
}

// displaced returns the items of live that others made and that, by the API
// server's words, cannot stand beside those that are wanted.
func displaced(want, live *unstructured.Unstructured, manager string, refusal error) (*fieldpath.Set, error) {
	items, found := fieldpath.NewSet(), collisions(refusal)
	if len(found) == 0 {
		return items, nil
	}
	for _, e := range live.GetManagedFields() {
		if e.FieldsV1 == nil || e.Subresource != "" || owns(e, manager) {
			continue
		}
		var set fieldpath.Set
		if err := set.FromJSON(bytes.NewReader(e.FieldsV1.GetRawBytes())); err != nil {
			return nil, fmt.Errorf("read managed fields of %s: %w", e.Manager, err)
		}
		set.Iterate(func(p fieldpath.Path) {
			for i, step := range p {
				if step.Key != nil && inTheWay(want.Object, live.Object, p[:i+1], found) {
					items.Insert(p[:i+1].Copy())
				}
			}
		})
	}
	return items, nil
}

// owns tells whether an entry says what manager applied.
func owns(e metav1.ManagedFieldsEntry, manager string) bool {
	return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
}

// inTheWay reports whether the item at a path collides with wanted items of its
// list, and is none of them.
func inTheWay(want, live map[string]any, at fieldpath.Path, found []collision) bool {
	item, ok := resolve(live, at).(map[string]any)
	list, _ := resolve(want, at[:len(at)-1]).([]any)
	if !ok || len(list) == 0 || resolve(want, at) != nil {
		return false
	}
	var names []string
	for _, step := range at[:len(at)-1] {
		if step.FieldName != nil {
			names = append(names, *step.FieldName)
		}
	}
	shape := strings.Join(names, ".")
	for _, c := range found {
		if c.list != shape {
			continue
		}
		for _, wanted := range list {
			other, _ := wanted.(map[string]any)
			if !c.same || other[c.field] != nil && reflect.DeepEqual(other[c.field], item[c.field]) {
				return true
			}
		}
	}
	return false
}

// resolve returns what is at a path, nil if nothing is. A field of a key that an
// item leaves out has its default there.
func resolve(v any, at fieldpath.Path) any {
	for _, step := range at {
		switch {
		case step.FieldName != nil:
			m, _ := v.(map[string]any)
			v = m[*step.FieldName]
		case step.Key != nil:
			list, _ := v.([]any)
			v = nil
			for _, item := range list {
				if m, ok := item.(map[string]any); ok && hasKey(m, step) {
					v = m
					break
				}
			}
		default:
			return nil
		}
		if v == nil {
			return nil
		}
	}
	return v
}

func hasKey(item map[string]any, step fieldpath.PathElement) bool {
	for _, field := range *step.Key {
		if value, set := item[field.Name]; set && fmt.Sprint(value) != fmt.Sprint(field.Value.Unstructured()) {
			return false
		}
	}
	return true
}

// displace makes another attempt at an apply that was refused because items of
// others are in the way; refusal is returned if there are none. The items become
// ours first, so that the apply removes them.
func (c *Cluster) displace(ctx context.Context, res Resource, key manifest.Key, want *unstructured.Unstructured, o ApplyOptions, refusal error) (*unstructured.Unstructured, error) {
	if o.DryRun {
		return c.foresee(ctx, res, key, want, o, refusal)
	}
	taken := false
	err := c.edit(ctx, edit{
		op: "take over items of", res: res, key: key, kind: types.JSONPatchType,
		patch: func(live *unstructured.Unstructured) ([]byte, error) {
			items, err := displaced(want, live, o.manager(), refusal)
			if err != nil || items.Empty() {
				return nil, err
			}
			fields, err := takenItems(live.GetManagedFields(), o.manager(), items)
			if err != nil {
				return nil, err
			}
			taken = true
			return withOwners(live, fields)
		},
		lost: apierrors.IsConflict,
	})
	if err != nil || !taken {
		return nil, refusal
	}
	o.notice("it had list items of others in the place of those that are wanted: they were removed")
	return c.apply(ctx, res, key, want, o)
}

// foresee tells what displace would do.
func (c *Cluster) foresee(ctx context.Context, res Resource, key manifest.Key, want *unstructured.Unstructured, o ApplyOptions, refusal error) (*unstructured.Unstructured, error) {
	return c.readAndWrite(ctx, res, key, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live == nil {
			return nil, refusal
		}
		items, err := displaced(want, live, o.manager(), refusal)
		if err != nil || items.Empty() {
			return nil, refusal
		}
		next := live.DeepCopy()
		next.Object, _ = without(next.Object, nil, items).(map[string]any)
		next = diff.Merge(want, next, diff.Options{Manager: o.manager()})
		opts := metav1.UpdateOptions{FieldManager: o.manager(), FieldValidation: o.validation(), DryRun: dry(true)}
		out, _, err := c.try(ctx, call{op: "apply", key: key, do: func(ctx context.Context) (*unstructured.Unstructured, error) {
			return c.client(res, key.Namespace).Update(ctx, next, opts)
		}})
		return out, err
	})
}

// without returns a value without the items at some paths.
func without(v any, at fieldpath.Path, items *fieldpath.Set) any {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			v[name] = without(field, append(slices.Clip(at), fieldpath.PathElement{FieldName: &name}), items)
		}
		return v
	case []any:
		kept := []any{}
		for _, item := range v {
			path, gone := itemPath(item, at, items)
			if !gone {
				kept = append(kept, without(item, path, items))
			}
		}
		return kept
	}
	return v
}

// itemPath finds the path of an item of a list among those of a set, and whether
// it is a member itself. Other items lead nowhere.
func itemPath(item any, at fieldpath.Path, items *fieldpath.Set) (path fieldpath.Path, member bool) {
	m, ok := item.(map[string]any)
	if !ok {
		return at, false
	}
	items.Iterate(func(p fieldpath.Path) {
		if len(p) <= len(at) || !p[:len(at)].Equals(at) || p[len(at)].Key == nil || !hasKey(m, p[len(at)]) {
			return
		}
		path = p[:len(at)+1].Copy()
		member = member || len(p) == len(at)+1
	})
	if path == nil {
		path = slices.Concat(at, fieldpath.Path{{Index: new(int)}})
	}
	return path, member
}

// takenItems moves the ownership of items from everybody to what manager applied.
func takenItems(entries []metav1.ManagedFieldsEntry, manager string, items *fieldpath.Set) ([]metav1.ManagedFieldsEntry, error) {
	var out []metav1.ManagedFieldsEntry
	moved, own := fieldpath.NewSet(), -1
	sets := make([]*fieldpath.Set, 0, len(entries))
	for _, e := range entries {
		set := fieldpath.NewSet()
		if e.FieldsV1 != nil {
			if err := set.FromJSON(bytes.NewReader(e.FieldsV1.GetRawBytes())); err != nil {
				return nil, fmt.Errorf("read managed fields of %s: %w", e.Manager, err)
			}
		}
		if owns(e, manager) {
			own = len(out)
		} else if e.Subresource == "" {
			theirs := fieldpath.NewSet()
			set.Iterate(func(p fieldpath.Path) {
				for i := range p {
					if items.Has(p[:i+1]) {
						theirs.Insert(p.Copy())
						return
					}
				}
			})
			moved, set = moved.Union(theirs), set.Difference(theirs)
		}
		out, sets = append(out, e), append(sets, set)
	}
	if own < 0 {
		out = append(out, metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: entries[0].APIVersion, FieldsType: "FieldsV1"})
		own, sets = len(out)-1, append(sets, fieldpath.NewSet())
	}
	sets[own] = sets[own].Union(moved)
	kept := out[:0]
	for i, e := range out {
		if sets[i].Empty() {
			continue
		}
		text, err := sets[i].ToJSON()
		if err != nil {
			return nil, fmt.Errorf("write managed fields of %s: %w", e.Manager, err)
		}
		e.FieldsV1 = metav1.NewFieldsV1(string(text))
		kept = append(kept, e)
	}
	return kept, nil
}

// withOwners is the patch that gives an object other owners, as long as it is what
// it was when they were read: writing its version makes the API server answer with
// a conflict otherwise.
func withOwners(live *unstructured.Unstructured, fields []metav1.ManagedFieldsEntry) ([]byte, error) {
	return json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": fields},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
}
