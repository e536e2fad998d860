// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// sharedCodec is what all tests of this package pack with.
var sharedCodec = sync.OnceValue(func() *Codec {
	c, err := NewCodec()
	if err != nil {
		panic(err)
	}
	return c
})

// entryOf packs an object.
func entryOf(u *unstructured.Unstructured) *entry {
	e, err := sharedCodec().newEntry(u)
	if err != nil {
		panic(err)
	}
	return e
}

// state is one version of the only object these tests need.
func state(uid string, version int) *entry {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("v1")
	u.SetKind("ConfigMap")
	u.SetNamespace("ns")
	u.SetName("c")
	u.SetUID(types.UID(uid))
	u.SetResourceVersion(strconv.Itoa(version))
	return entryOf(u)
}

func TestStore(t *testing.T) {
	key := manifest.Key{Kind: "ConfigMap", Namespace: "ns", Name: "c"}
	cases := map[string]struct {
		reason  string
		do      func(*store)
		want    string
		changes []string
	}{
		"OlderEvent": {
			reason: "the watch lags behind our own write",
			do: func(s *store) {
				s.saw(state("a", 1))
				s.wrote(state("a", 3))
				s.saw(state("a", 2))
				s.saw(state("a", 3))
			},
			want:    "a/3",
			changes: []string{"added a", "modified a"},
		},
		"NewerEvent": {
			reason:  "the watch was faster than the answer to our write",
			do:      func(s *store) { s.saw(state("a", 1)); s.saw(state("a", 3)); s.wrote(state("a", 2)) },
			want:    "a/3",
			changes: []string{"added a", "modified a"},
		},
		"LateAnswer": {
			reason: "the watch reported our write and the deletion that followed before our write was answered",
			do: func(s *store) {
				s.saw(state("a", 1))
				s.saw(state("a", 2))
				s.sawDeleted(key, "a", parseVersion("3"))
				s.wrote(state("a", 2))
			},
			changes: []string{"added a", "modified a", "deleted a"},
		},
		"OlderList": {
			reason:  "a list made before our creation does not remove it",
			do:      func(s *store) { s.wrote(state("a", 5)); s.sawAll(configMaps(), "", nil, parseVersion("4")) },
			want:    "a/5",
			changes: []string{"added a"},
		},
		"NewerList": {
			reason:  "a list made after our creation does",
			do:      func(s *store) { s.wrote(state("a", 5)); s.sawAll(configMaps(), "", nil, parseVersion("6")) },
			changes: []string{"added a", "deleted a"},
		},
		"ListAfterEvent": {
			reason: "once the watch has caught up with a write, lists decide",
			do: func(s *store) {
				s.wrote(state("a", 5))
				s.saw(state("a", 5))
				s.sawAll(configMaps(), "", nil, parseVersion("6"))
			},
			changes: []string{"added a", "deleted a"},
		},
		"EventAfterOurDeletion": {
			reason: "what the watch still says of an object we deleted is outdated",
			do: func(s *store) {
				s.saw(state("a", 1))
				s.removed(key, "a")
				s.saw(state("a", 2))
				s.sawDeleted(key, "a", parseVersion("3"))
			},
			changes: []string{"added a", "deleted a"},
		},
		"RecreatedAfterOurDeletion": {
			reason: "the next object of that name counts",
			do: func(s *store) {
				s.saw(state("a", 1))
				s.removed(key, "a")
				s.wrote(state("b", 4))
				s.saw(state("a", 2))
				s.sawDeleted(key, "a", parseVersion("3"))
			},
			want:    "b/4",
			changes: []string{"added a", "deleted a", "added b"},
		},
		"MissedDeletion": {
			reason:  "another UID is another object",
			do:      func(s *store) { s.saw(state("a", 1)); s.saw(state("b", 5)) },
			want:    "b/5",
			changes: []string{"added a", "deleted a", "added b"},
		},
		"OtherUID": {
			reason:  "a deletion that was meant for an older object leaves this one",
			do:      func(s *store) { s.saw(state("b", 5)); s.removed(key, "a") },
			want:    "b/5",
			changes: []string{"added b"},
		},
		"Dropped": {
			reason: "a kind that is not watched any more is forgotten",
			do: func(s *store) {
				s.saw(state("a", 1))
				s.drop(configMaps())
				s.saw(state("a", 2))
				s.wrote(state("a", 3))
			},
			changes: []string{"added a", "deleted a"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			s.hold(configMaps())
			var changes []string
			s.subscribe(func(c Change) { changes = append(changes, fmt.Sprintf("%s %s", c.Type, c.UID)) })
			tc.do(s)
			if d := cmp.Diff(tc.want, shown(s, key)); d != "" {
				t.Errorf("%s: state (-want +got):\n%s", tc.reason, d)
			}
			if d := cmp.Diff(tc.changes, changes); d != "" {
				t.Errorf("%s: changes (-want +got):\n%s", tc.reason, d)
			}
		})
	}
}

func shown(s *store, key manifest.Key) string {
	e, ok := s.get(key)
	if !ok {
		return ""
	}
	return string(e.uid()) + "/" + e.rv().String()
}

// world is a server for one object whose watch and whose answers to our writes
// both lag behind, each on its own.
type world struct {
	*rapid.T
	s       *store
	version int
	made    int
	now     *entry
	events  []event
	answers []event
	// deletedAt is the version at which an object was deleted.
	deletedAt map[types.UID]int
}

type event struct {
	e       *entry
	deleted bool
}

func (w *world) write() event {
	if w.now == nil {
		w.made++
	}
	w.now = state(fmt.Sprint("u", w.made), w.version)
	w.events = append(w.events, event{e: w.now})
	return event{e: w.now}
}

func (w *world) remove() event {
	gone := event{state(string(w.now.uid()), w.version), true}
	w.deletedAt[w.now.uid()] = w.version
	w.now = nil
	w.events = append(w.events, gone)
	return gone
}

func (w *world) deliver() {
	next := w.events[0]
	w.events = w.events[1:]
	if next.deleted {
		w.s.sawDeleted(next.e.key(), next.e.uid(), next.e.rv())
	} else {
		w.s.saw(next.e)
	}
}

// answer lets one of our requests return and checks that what is read then is not
// older than what it did.
func (w *world) answer() {
	next := w.answers[0]
	w.answers = w.answers[1:]
	if next.deleted {
		w.s.removed(next.e.key(), next.e.uid())
	} else {
		w.s.wrote(next.e)
	}
	read, ok := w.s.get(next.e.key())
	_, gone := w.deletedAt[next.e.uid()]
	switch {
	case ok && next.deleted && read.uid() == next.e.uid():
		w.Fatalf("deleted %s and still read it", next.e.uid())
	case ok && !next.deleted && next.e.rv().newer(read.rv()):
		w.Fatalf("wrote %s/%s and read %s/%s", next.e.uid(), next.e.rv(), read.uid(), read.rv())
	case !ok && !next.deleted && !gone:
		w.Fatalf("wrote %s/%s and read nothing", next.e.uid(), next.e.rv())
	}
}

func (w *world) relist() {
	// A new watch starts from a list as of now.
	w.events = nil
	var list []*entry
	if w.now != nil {
		list = []*entry{w.now}
	}
	w.s.sawAll(configMaps(), "", list, parseVersion(strconv.Itoa(w.version)))
}

// TestStoreNeverGoesBack demands that, whatever lags behind, what we wrote is what
// we read, and that in the end the cache is right.
func TestStoreNeverGoesBack(t *testing.T) {
	key := manifest.Key{Kind: "ConfigMap", Namespace: "ns", Name: "c"}
	rapid.Check(t, func(t *rapid.T) {
		w := &world{T: t, s: newStore(), deletedAt: map[types.UID]int{}}
		w.s.hold(configMaps())
		steps := []string{"write", "foreign write", "delete", "foreign delete", "watch", "watch", "answer", "answer", "relist"}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			w.version++
			switch step := rapid.SampledFrom(steps).Draw(t, "step"); {
			case step == "write":
				w.answers = append(w.answers, w.write())
			case step == "foreign write":
				w.write()
			case step == "delete" && w.now != nil:
				w.answers = append(w.answers, w.remove())
			case step == "foreign delete" && w.now != nil:
				w.remove()
			case step == "watch" && len(w.events) > 0:
				w.deliver()
			case step == "answer" && len(w.answers) > 0:
				w.answer()
			case step == "relist":
				w.relist()
			}
		}
		for len(w.answers) > 0 {
			w.answer()
		}
		for len(w.events) > 0 {
			w.deliver()
		}
		want := ""
		if w.now != nil {
			want = string(w.now.uid()) + "/" + w.now.rv().String()
		}
		if got := shown(w.s, key); got != want {
			t.Errorf("the server has %q, the cache %q", want, got)
		}
		if len(w.s.gone)+len(w.s.written) > 0 {
			t.Errorf("remembered for ever: %v %v", w.s.gone, w.s.written)
		}
		if left := w.s.ofKind(configMaps()); w.now == nil && len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	})
}

func TestSubscribersMayRead(t *testing.T) {
	s := newStore()
	s.hold(configMaps())
	key := manifest.Key{Kind: "ConfigMap", Namespace: "ns", Name: "c"}
	seen := ""
	cancel := s.subscribe(func(Change) { seen = shown(s, key) })
	s.saw(state("a", 1))
	if seen != "a/1" {
		t.Errorf("the cache must hold the new state when a subscriber is told, it held %q", seen)
	}
	cancel()
	s.saw(state("a", 2))
	if seen != "a/1" {
		t.Error("told after cancel")
	}
}

func TestEntryKeepsManagedFields(t *testing.T) {
	entryAt := func(time string) *entry {
		return entryOf(read(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, managedFields: [{manager: m, operation: Apply, apiVersion: v1, time: "`+time+`", fieldsType: FieldsV1, fieldsV1: {"f:data": {}}}]}}`))
	}
	a, b := entryAt("2026-01-01T00:00:00Z"), entryAt("2026-02-01T00:00:00Z")
	if a.managed != b.managed {
		t.Error("entries that differ in time alone must share their managed fields")
	}
	if a.object().GetManagedFields() != nil {
		t.Error("the cached object must not carry them")
	}
	want := []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Apply", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{}}`)}}
	if d := cmp.Diff(want, a.managedFields()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestNewer(t *testing.T) {
	cases := map[string]struct {
		a, b string
		want bool
	}{
		"Larger":     {"10", "9", true},
		"Smaller":    {"9", "10", false},
		"Equal":      {"10", "10", false},
		"NotNumbers": {"x", "y", true},
		"SameText":   {"x", "x", false},
		"Huge":       {"18446744073709551617", "18446744073709551616", true},
	}
	for name, tc := range cases {
		if got := parseVersion(tc.a).newer(parseVersion(tc.b)); got != tc.want {
			t.Errorf("%s: %q newer than %q = %v", name, tc.a, tc.b, got)
		}
	}
}
