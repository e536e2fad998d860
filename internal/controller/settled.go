// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"encoding/json"
	"hash/maphash"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/status"
)

// settled is what an Application's objects in sync looked like when it was looked
// at last. A change of one of them that leaves its comparison and all that the
// status says of it as they were needs no look: most changes of live objects are
// of that kind.
type settled struct {
	dest *destination
	// faces are in the order of keys.
	faces []face
}

// face is a hash of what the status says of an object, beside its comparison.
type face struct{ key, mark uint64 }

// settle notes what the look has seen. An Application that is in the middle of
// something, or cannot be compared, is looked at after every change.
func (s *session) settle() {
	s.st.settled.Store(nil)
	if s.comparison == nil || s.st.run != nil || len(s.problems) > 0 || s.waitsForCause() {
		return
	}
	next := &settled{dest: s.dest}
	for _, obj := range s.shown().Objects {
		if obj.Part == status.Managed && obj.Live != nil && obj.InSync {
			next.faces = append(next.faces, face{s.keyHash(obj.Key), s.facePrint(obj.Live, obj.Health)})
		}
	}
	slices.SortFunc(next.faces, func(a, b face) int { return cmp.Compare(a.key, b.key) })
	next.faces = slices.Clip(next.faces)
	s.st.settled.Store(next)
}

// waitsForCause tells whether the last attempt failed because of objects: a change
// of one of them may be the reason to try again.
func (s *session) waitsForCause() bool {
	n := len(s.st.memory.Attempts)
	return n > 0 && len(s.st.memory.Attempts[n-1].Outcome.Causes) > 0
}

// unchanged reports whether changes of the given objects make no difference to
// what was seen of the Application.
func (a *applications) unchanged(name types.NamespacedName, keys []manifest.Key) bool {
	a.mu.Lock()
	st := a.states[name]
	a.mu.Unlock()
	if st == nil {
		return false
	}
	if run := st.running.Load(); run != nil && !run.ended() && !run.Asking() {
		// The run watches its objects itself, and all others are looked at when it has
		// ended.
		return true
	}
	seen := st.settled.Load()
	if seen == nil || !a.destinations.has(seen.dest) {
		return false
	}
	judge := a.judgeOn(seen.dest)
	for _, key := range keys {
		i, ok := slices.BinarySearchFunc(seen.faces, a.keyHash(key), func(f face, key uint64) int { return cmp.Compare(f.key, key) })
		if !ok {
			return false
		}
		live, owners, exists := seen.dest.GetOwned(key)
		if !exists || !a.comparer.Unchanged(a.instance(name), key, live, owners) || a.facePrint(live, judge(live)) != seen.faces[i].mark {
			return false
		}
	}
	// A look that has begun meanwhile sees for itself.
	return st.settled.Load() == seen
}

func (a *applications) keyHash(key manifest.Key) uint64 { return maphash.Comparable(a.seed, key) }

func (a *applications) facePrint(live *unstructured.Unstructured, verdict health.Result) uint64 {
	balancer, _, _ := unstructured.NestedFieldNoCopy(live.Object, "status", "loadBalancer")
	text, err := json.Marshal([]any{verdict, balancer})
	if err != nil {
		return 0
	}
	return maphash.Bytes(a.seed, text)
}
