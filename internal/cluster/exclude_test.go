// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestExcludedKindsAreNotWatched(t *testing.T) {
	b := newBench(t)
	only := func(kind string) func(schema.GroupKind) bool {
		return func(gk schema.GroupKind) bool { return gk.Kind == kind }
	}
	b.Exclude(only("Secret"))
	b.watch(configMaps(), schema.GroupKind{Kind: "Secret"})
	b.apply(b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"))
	b.apply(b.object("{apiVersion: v1, kind: Secret, metadata: {name: s}}"))
	if _, ok := b.Get(b.key("Secret", "s")); ok || b.watchOf(schema.GroupKind{Kind: "Secret"}) != nil {
		t.Error("an excluded kind is watched")
	}
	if _, ok := b.Get(b.key("ConfigMap", "c")); !ok {
		t.Error("another kind is not")
	}
	deleted := 0
	cancel := b.Subscribe(func(c Change) {
		if c.Type == Deleted && c.Key == b.key("ConfigMap", "c") {
			deleted++
		}
	})
	defer cancel()

	// The settings change: what was watched is let go of, and the other way around.
	b.Exclude(only("ConfigMap"))
	if _, ok := b.Get(b.key("ConfigMap", "c")); ok || deleted != 1 || b.watchOf(configMaps()) != nil {
		t.Errorf("the kind is still watched, its object was reported gone %d times", deleted)
	}
	b.watch(configMaps(), schema.GroupKind{Kind: "Secret"})
	if _, ok := b.Get(b.key("Secret", "s")); !ok {
		t.Error("a kind that is not excluded any more is not watched")
	}
}
