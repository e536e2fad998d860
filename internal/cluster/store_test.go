// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// state is one version of the only object these tests need.
func state(uid string, version int) *entry {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("v1")
	u.SetKind("ConfigMap")
	u.SetNamespace("ns")
	u.SetName("c")
	u.SetUID(types.UID(uid))
	u.SetResourceVersion(strconv.Itoa(version))
	return newEntry(u)
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
		"OlderList": {
			reason:  "a list made before our creation does not remove it",
			do:      func(s *store) { s.wrote(state("a", 5)); s.sawAll(configMaps(), nil, "4") },
			want:    "a/5",
			changes: []string{"added a"},
		},
		"NewerList": {
			reason:  "a list made after our creation does",
			do:      func(s *store) { s.wrote(state("a", 5)); s.sawAll(configMaps(), nil, "6") },
			changes: []string{"added a", "deleted a"},
		},
		"ListAfterEvent": {
			reason:  "once the watch has caught up with a write, lists decide",
			do:      func(s *store) { s.wrote(state("a", 5)); s.saw(state("a", 5)); s.sawAll(configMaps(), nil, "6") },
			changes: []string{"added a", "deleted a"},
		},
		"EventAfterOurDeletion": {
			reason: "what the watch still says of an object we deleted is outdated",
			do: func(s *store) {
				s.saw(state("a", 1))
				s.removed(key, "a")
				s.saw(state("a", 2))
				s.sawDeleted(state("a", 3))
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
				s.sawDeleted(state("a", 3))
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
	return string(e.uid) + "/" + e.rv
}

// TestStoreNeverGoesBack plays a server whose watch lags behind: whatever the
// delay, what we wrote is what we read, and in the end the cache is right.
func TestStoreNeverGoesBack(t *testing.T) {
	key := manifest.Key{Kind: "ConfigMap", Namespace: "ns", Name: "c"}
	rapid.Check(t, func(t *rapid.T) {
		s := newStore()
		s.hold(configMaps())
		type event struct {
			e       *entry
			deleted bool
		}
		var pending []event
		version, made := 1, 0
		var now *entry
		deliver := func() {
			if next := pending[0]; next.deleted {
				s.sawDeleted(next.e)
			} else {
				s.saw(next.e)
			}
			pending = pending[1:]
		}
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			version++
			step := rapid.SampledFrom([]string{"write", "foreign write", "delete", "foreign delete", "watch", "relist"}).Draw(t, "step")
			switch step {
			case "write", "foreign write":
				if now == nil {
					made++
				}
				now = state(fmt.Sprint("u", made), version)
				pending = append(pending, event{e: now})
			case "delete", "foreign delete":
				if now == nil {
					continue
				}
				gone := state(string(now.uid), version)
				now = nil
				pending = append(pending, event{gone, true})
				if step == "delete" {
					s.removed(key, gone.uid)
				}
			case "watch":
				if len(pending) > 0 {
					deliver()
				}
			case "relist":
				// A new watch starts from a list as of now.
				pending = nil
				var list []*entry
				if now != nil {
					list = []*entry{now}
				}
				s.sawAll(configMaps(), list, strconv.Itoa(version))
			}
			if step == "write" {
				s.wrote(now)
			}
			got := shown(s, key)
			if step == "write" && got != string(now.uid)+"/"+now.rv {
				t.Fatalf("wrote %s/%s and read %q", now.uid, now.rv, got)
			}
			if step == "delete" && got != "" && got != "u"+fmt.Sprint(made) {
				if e, _ := s.get(key); e != nil && string(e.uid) == fmt.Sprint("u", made) {
					t.Fatalf("deleted u%d and read %q", made, got)
				}
			}
		}
		for len(pending) > 0 {
			deliver()
		}
		want := ""
		if now != nil {
			want = string(now.uid) + "/" + now.rv
		}
		if got := shown(s, key); got != want {
			t.Errorf("the server has %q, the cache %q", want, got)
		}
		if len(s.gone)+len(s.written) > 0 {
			t.Errorf("remembered for ever: %v %v", s.gone, s.written)
		}
		if now == nil && len(s.children)+len(s.apps)+len(s.objects) > 0 {
			t.Errorf("left in indexes: %v %v", s.children, s.apps)
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
		return newEntry(read(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, managedFields: [{manager: m, operation: Apply, apiVersion: v1, time: "`+time+`", fieldsType: FieldsV1, fieldsV1: {"f:data": {}}}]}}`))
	}
	a, b := entryAt("2026-01-01T00:00:00Z"), entryAt("2026-02-01T00:00:00Z")
	if a.managed != b.managed {
		t.Error("entries that differ in time alone must share their managed fields")
	}
	if a.GetManagedFields() != nil {
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
		if got := newer(tc.a, tc.b); got != tc.want {
			t.Errorf("%s: newer(%q, %q) = %v", name, tc.a, tc.b, got)
		}
	}
}
