// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/inventory"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// superfluous returns what is the application's and no longer rendered, and what
// may be.
func superfluous(dest Destination, s Subject, draft *plan.Plan) (found []inventory.Candidate, unproven []*unstructured.Unstructured) {
	if s.App == "" {
		return nil, nil
	}
	in := inventory.Input{
		App: s.App, Tracking: s.Tracking, Record: s.Inventory, Rendered: s.rendered(dest, draft), Namespaced: dest.Scope,
	}
	// What is rendered is not superfluous, and it is by far the most.
	keys := make(map[manifest.Key]bool, len(in.Rendered))
	for _, key := range in.Rendered {
		keys[key] = true
	}
	in.Live = append(dest.TrackedBut(s.App, func(key manifest.Key) bool { return keys[key] }), dest.Labelled(s.App)...)
	for _, entry := range s.Inventory {
		if keys[entry.Key] {
			continue
		}
		if live, ok := dest.Get(entry.Key); ok {
			in.Live = append(in.Live, live)
		}
	}
	found, unproven = inventory.Prunable(in), inventory.Unproven(in)
	if s.Elsewhere == nil {
		return found, unproven
	}
	return slices.DeleteFunc(found, func(c inventory.Candidate) bool { return s.Elsewhere(c.Key) }),
		slices.DeleteFunc(unproven, func(u *unstructured.Unstructured) bool { return s.Elsewhere(manifest.KeyOf(u)) })
}

// rendered returns the keys of all that is rendered or made by an option, whether or
// not it is applied now.
func (s Subject) rendered(dest Destination, draft *plan.Plan) []manifest.Key {
	var keys []manifest.Key
	for _, groups := range [][]plan.Group{draft.Groups, draft.OnDeletion} {
		for _, g := range groups {
			for _, step := range g.Steps {
				if !step.Untracked || !s.Options.PruneHandedOver {
					keys = append(keys, step.Key)
				}
			}
		}
	}
	for _, note := range draft.Ignored {
		keys = append(keys, note.Key)
	}
	if s.Options.CreateNamespace && !s.Options.PruneHandedOver {
		// Once rendered, now made by the option: handed over, not left behind.
		keys = append(keys, manifest.Key{Kind: "Namespace", Name: s.Namespace})
	}
	for _, key := range s.Desired.spared() {
		keys = append(keys, liveKey(key, dest, s.Namespace))
	}
	return keys
}

// hold notes who still uses the candidates.
func hold(ctx context.Context, dest Destination, candidates []inventory.Candidate) error {
	holdable := func(c inventory.Candidate) bool { return inventory.Holdable(c.Key.GroupKind()) }
	if !slices.ContainsFunc(candidates, holdable) {
		return nil
	}
	if err := dest.Watch(ctx, inventory.HolderKinds()...); err != nil {
		return err
	}
	var users []*unstructured.Unstructured
	for _, gk := range inventory.HolderKinds() {
		users = append(users, dest.List(gk)...)
	}
	for i := range candidates {
		if holdable(candidates[i]) {
			candidates[i].Holder = inventory.Holder(candidates[i].Key, users)
		}
	}
	return nil
}

// dependants says which objects of others would go with a definition: those of
// its kind that the application does not prune itself.
func dependants(ctx context.Context, dest Destination, candidate inventory.Candidate, pruned []inventory.Candidate) string {
	gk, ok := manifest.DefinesKind(candidate.Object)
	if !ok {
		return ""
	}
	if err := dest.Watch(ctx, gk); err != nil {
		if cluster.IsUnknownKind(err) {
			return ""
		}
		return "objects of kind " + gk.Kind + ", which cannot be listed,"
	}
	var others []string
	for _, obj := range dest.List(gk) {
		key := manifest.KeyOf(obj)
		if !slices.ContainsFunc(pruned, func(c inventory.Candidate) bool { return c.Key == key }) {
			others = append(others, strings.TrimPrefix(key.Namespace+"/"+key.Name, "/"))
		}
	}
	return foreign(gk.Kind, others)
}

// maxNamed bounds how many objects of others are named.
const maxNamed = 3

// foreign words which objects of a kind are not the application's.
func foreign(kind string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	text := kind + " " + strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + " of others"
}
