// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// memory is what comparisons have found out about the objects of applications. It
// holds three numbers for each object and nothing of the object itself.
type memory struct {
	seed maphash.Seed

	mu sync.Mutex
	of map[string]*remarks
}

// remarks are the verdicts on the objects of one application.
type remarks struct {
	// basis is what they depend on besides the live objects.
	basis uint64
	// status is true if they depend on the status of live objects too.
	status bool
	// list is in the order of keys.
	list []remark
	// outOfSync holds the verdicts on objects that are not in sync, by key.
	outOfSync map[uint64]Verdict
}

// remark is the state of an object on which there is a verdict.
type remark struct {
	// key is a hash of the object's.
	key uint64
	// version is its resourceVersion, 0 if that is no number.
	version uint64
	// mark is its fingerprint: a state with another version and the same
	// fingerprint gets the same verdict.
	mark uint64
}

func newMemory() *memory {
	return &memory{seed: maphash.MakeSeed(), of: map[string]*remarks{}}
}

func (m *memory) forget(app string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, app)
}

func (m *memory) hash(key manifest.Key) uint64 { return maphash.Comparable(m.seed, key) }

// basis identifies what verdicts on a subject depend on, besides the live object.
func (m *memory) basis(s Subject) (uint64, error) {
	data, err := json.Marshal([]any{s.Desired.Digest, s.settled, s.Write, s.Rules, s.Ignore, s.Tracking, s.Options.NamespaceLabels, s.Options.NamespaceAnnotations})
	if err != nil {
		return 0, fmt.Errorf("read the ignored differences: %w", err)
	}
	return maphash.Bytes(m.seed, data), nil
}

// recall returns what is remembered of an application on a basis.
func (m *memory) recall(app string, basis uint64) *remarks {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.of[app]; r != nil && r.basis == basis {
		return r
	}
	return &remarks{}
}

func (m *memory) keep(app string, r *remarks) {
	slices.SortFunc(r.list, func(a, b remark) int { return cmp.Compare(a.key, b.key) })
	r.list = slices.Clip(r.list)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of[app] = r
}

func (r *remarks) find(key uint64) (remark, bool) {
	i, ok := slices.BinarySearchFunc(r.list, key, func(at remark, key uint64) int { return cmp.Compare(at.key, key) })
	if !ok {
		return remark{}, false
	}
	return r.list[i], true
}

// note adds a verdict.
func (r *remarks) note(at remark, v Verdict) {
	r.list = append(r.list, at)
	if v.InSync() {
		return
	}
	if r.outOfSync == nil {
		r.outOfSync = map[uint64]Verdict{}
	}
	v.Live = nil
	r.outOfSync[at.key] = v
}

// verdict is the one that was noted, on the object as it is now.
func (r *remarks) verdict(at remark, live *unstructured.Unstructured) Verdict {
	v := r.outOfSync[at.key]
	v.Live = live
	return v
}

func versionOf(live *unstructured.Unstructured) uint64 {
	n, err := strconv.ParseUint(live.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Unchanged reports whether the last comparison of an application saw an object
// in a state that gets the same verdict as the given one. It says no when there is
// no such comparison.
func (c *Comparer) Unchanged(app string, key manifest.Key, live *unstructured.Unstructured, owners []metav1.ManagedFieldsEntry) bool {
	c.memory.mu.Lock()
	r := c.memory.of[app]
	c.memory.mu.Unlock()
	if r == nil {
		return false
	}
	at, ok := r.find(c.memory.hash(key))
	return ok && (at.version != 0 && at.version == versionOf(live) || at.mark == r.fingerprint(live, owners))
}

// fingerprint is that of a live object as far as verdicts depend on it.
func (r *remarks) fingerprint(live *unstructured.Unstructured, owners []metav1.ManagedFieldsEntry) uint64 {
	if r.status {
		return diff.Fingerprint(live, owners, live.Object["status"])
	}
	return diff.Fingerprint(live, owners)
}
