// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// numbered is the state of one of many objects: every other one is owned by the one
// before, every fifth has an odd UID.
func numbered(i, version int) *entry {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("v1")
	u.SetKind("ConfigMap")
	u.SetNamespace("ns")
	u.SetName(fmt.Sprintf("c%d", i))
	uid := func(i int) types.UID {
		if i%5 == 0 {
			return types.UID(fmt.Sprintf("odd-%d", i))
		}
		return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i))
	}
	u.SetUID(uid(i))
	u.SetResourceVersion(fmt.Sprint(version))
	if i%2 == 1 {
		u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: fmt.Sprintf("c%d", i-1), UID: uid(i - 1)}})
	}
	u.SetAnnotations(map[string]string{manifest.AnnotationTrackingID: manifest.TrackingID{App: fmt.Sprintf("app%d", i%7), Key: manifest.KeyOf(u)}.String()})
	u.Object["data"] = map[string]any{"number": fmt.Sprint(i)}
	return entryOf(u)
}

// everything is what a store answers about n numbered objects.
func everything(s *store, n int) map[string][]any {
	out := map[string][]any{}
	note := func(what string, entries []*entry) {
		for _, e := range entries {
			out[what] = append(out[what], e.object().Object, e.key(), e.uid(), e.rv().String(), e.owners(), e.tracking())
		}
	}
	note("kind", s.ofKind(schema.GroupKind{Kind: "ConfigMap"}))
	for i := range 7 {
		note(fmt.Sprint("app", i), s.ofApp(fmt.Sprintf("app%d", i)))
	}
	for i := range n {
		if e, ok := s.get(manifest.Key{Kind: "ConfigMap", Namespace: "ns", Name: fmt.Sprintf("c%d", i)}); ok {
			note(fmt.Sprint("get", i), []*entry{e})
			note(fmt.Sprint("owned", i), s.ofOwner(e.uid()))
		}
	}
	return out
}

// What the cache answers is the same before and after its entries were moved
// together, and so is what changes afterwards.
func TestNothingIsLostWhenEntriesAreMovedTogether(t *testing.T) {
	const n = 2*shelfEntries + 10
	fill := func() *store {
		s := newStore()
		s.hold(schema.GroupKind{Kind: "ConfigMap"})
		for i := range n {
			s.saw(numbered(i, 100+i))
		}
		return s
	}
	change := func(s *store) {
		for i := 0; i < n; i += 3 {
			s.saw(numbered(i, 10000+i))
		}
		for i := 1; i < n; i += 4 {
			e := numbered(i, 20000+i)
			s.sawDeleted(e.key(), e.uid(), e.rv())
		}
	}
	loose, moved := fill(), fill()
	moved.compact()
	if diff := cmp.Diff(everything(loose, n), everything(moved, n)); diff != "" {
		t.Fatalf("after moving:\n%s", diff)
	}
	change(loose)
	change(moved)
	moved.compact()
	if diff := cmp.Diff(everything(loose, n), everything(moved, n)); diff != "" {
		t.Fatalf("after changes:\n%s", diff)
	}
}

// Many entries lie in few pieces of memory, and are left alone when little has come.
func TestEntriesAtRestLieInFewPieces(t *testing.T) {
	const n = 4 * shelfEntries
	s := newStore()
	s.hold(schema.GroupKind{Kind: "ConfigMap"})
	for i := range n {
		s.saw(numbered(i, 100+i))
	}
	pieces := testing.AllocsPerRun(1, func() {
		s.loose = n
		s.compact()
	})
	if pieces > n/8 {
		t.Errorf("%d entries lie in %.0f pieces", n, pieces)
	}
	at := func() *entry {
		e, _ := s.get(manifest.Key{Kind: "ConfigMap", Namespace: "ns", Name: "c2"})
		return e
	}
	before := at()
	s.saw(numbered(1, 10000))
	if s.compact(); at() != before {
		t.Error("all are moved because one has changed")
	}
	for i := range n {
		s.saw(numbered(i, 20000+i))
	}
	if before = at(); before == nil {
		t.Fatal("c2 is gone")
	}
	if s.compact(); at() == before {
		t.Error("nothing is moved though all have changed")
	}
}
