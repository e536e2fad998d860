// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"hash/maphash"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/jq"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/settings"
)

// updates tells changes of live objects that matter from those that the settings
// have ignored. Only objects of kinds with a rule are remembered.
type updates struct {
	rules  diff.Options
	health health.Custom

	seed maphash.Seed

	mu sync.Mutex
	// seen holds hashes of keys and of the states of their objects: there may be
	// many of them.
	seen map[uint64]uint64
}

// newUpdates returns nil if every change matters.
func newUpdates(told settings.Updates, custom health.Custom) *updates {
	if !told.Enabled || len(told.Ignore) == 0 {
		return nil
	}
	u := &updates{
		rules:  diff.Options{Ignore: told.Ignore, Deletions: map[string]diff.Deletion{}},
		health: custom, seed: maphash.MakeSeed(), seen: map[uint64]uint64{},
	}
	for _, rule := range told.Ignore {
		for _, expression := range rule.JQPathExpressions {
			// One that cannot be read ignores nothing; the settings have said so.
			if deletion, err := jq.Delete(expression); err == nil {
				u.rules.Deletions[expression] = deletion
			}
		}
	}
	return u
}

// immaterial tells whether a change of an object, which is now as given, is only in
// what is ignored and leaves the object's health as it was.
func (u *updates) immaterial(change cluster.Change, now func(manifest.Key) (*unstructured.Unstructured, bool)) bool {
	if u == nil || !u.concerns(change.Key.GroupKind()) {
		return false
	}
	key := maphash.Comparable(u.seed, change.Key)
	live, exists := now(change.Key)
	if !exists || change.Type == cluster.Deleted {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.seen, key)
		return false
	}
	material, err := diff.Material(live, u.rules)
	if err != nil {
		return false
	}
	judged := health.OfWith(live, health.Context{Custom: u.health})
	state := maphash.String(u.seed, material+" "+string(judged.Status)+" "+judged.Message)
	u.mu.Lock()
	defer u.mu.Unlock()
	before, known := u.seen[key]
	u.seen[key] = state
	return known && change.Type == cluster.Modified && before == state
}

func (u *updates) concerns(gk schema.GroupKind) bool {
	return slices.ContainsFunc(u.rules.Ignore, func(rule v1alpha1.ResourceIgnoreDifferences) bool { return diff.Selects(rule, gk) })
}
