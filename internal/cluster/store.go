// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// ChangeType says what happened to an object.
type ChangeType string

// Types of changes.
const (
	Added    ChangeType = "added"
	Modified ChangeType = "modified"
	Deleted  ChangeType = "deleted"
)

// Change is a change of a watched object.
type Change struct {
	Type ChangeType
	Key  manifest.Key
	UID  types.UID
	// Owners are the UIDs of the object's owner references.
	Owners []types.UID
	// TrackingID is the object's tracking annotation, as it is written.
	TrackingID string
}

// store is the live cache: the objects of all watched kinds, with the indexes
// that applications need. Watches fill it, and so do our own writes as soon as
// the API server has answered them; states that arrive later but are older are
// dropped.
type store struct {
	// order is held while a change is made and told, so that subscribers see
	// changes in the order in which they happened. It is taken before mu, which is
	// free while they are told: they may read the cache.
	order sync.Mutex
	subs  map[int]func(Change)
	next  int

	mu       sync.RWMutex
	objects  map[manifest.Key]*entry
	kinds    map[schema.GroupKind]*kind
	children map[types.UID]map[manifest.Key]struct{}
	apps     map[string]map[manifest.Key]struct{}
	// gone holds the UIDs of objects that we deleted and whose deletion the watch
	// has not reported yet: whatever it says of them is outdated.
	gone map[types.UID]manifest.Key
	// written holds versions that our writes returned and the watch has not
	// reached yet: a list older than that does not remove the object.
	written map[manifest.Key]string
}

// kind is what the store holds of one watched kind.
type kind struct {
	keys map[manifest.Key]struct{}
	// seen is the version that the watch has reached. Its events come in the order
	// of their versions, so the answer to a write of an earlier one is old news:
	// the object may be gone again.
	seen string
}

func newStore() *store {
	return &store{
		subs:     map[int]func(Change){},
		objects:  map[manifest.Key]*entry{},
		kinds:    map[schema.GroupKind]*kind{},
		children: map[types.UID]map[manifest.Key]struct{}{},
		apps:     map[string]map[manifest.Key]struct{}{},
		gone:     map[types.UID]manifest.Key{},
		written:  map[manifest.Key]string{},
	}
}

// change runs fn under the lock and tells subscribers what it reports.
func (s *store) change(fn func(report func(ChangeType, *entry))) {
	s.order.Lock()
	defer s.order.Unlock()
	var changes []Change
	s.mu.Lock()
	fn(func(t ChangeType, e *entry) {
		changes = append(changes, Change{Type: t, Key: e.key, UID: e.uid, Owners: e.owners, TrackingID: e.tracking})
	})
	s.mu.Unlock()
	for _, c := range changes {
		for _, id := range slices.Sorted(maps.Keys(s.subs)) {
			s.subs[id](c)
		}
	}
}

func (s *store) subscribe(fn func(Change)) (cancel func()) {
	s.order.Lock()
	defer s.order.Unlock()
	id := s.next
	s.next++
	s.subs[id] = fn
	return func() {
		s.order.Lock()
		defer s.order.Unlock()
		delete(s.subs, id)
	}
}

// hold makes room for a kind: only then are our own writes of it kept.
func (s *store) hold(gk schema.GroupKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kinds[gk] == nil {
		s.kinds[gk] = &kind{keys: map[manifest.Key]struct{}{}}
	}
}

// drop forgets a kind that is not watched any more.
func (s *store) drop(gk schema.GroupKind) {
	s.change(func(report func(ChangeType, *entry)) {
		for _, key := range sorted(s.keysOf(gk)) {
			e := s.objects[key]
			s.remove(e)
			report(Deleted, e)
		}
		delete(s.kinds, gk)
		s.forget(gk)
	})
}

// forget drops what we remember of our own writes of a kind.
func (s *store) forget(gk schema.GroupKind) {
	maps.DeleteFunc(s.gone, func(_ types.UID, k manifest.Key) bool { return k.GroupKind() == gk })
	maps.DeleteFunc(s.written, func(k manifest.Key, _ string) bool { return k.GroupKind() == gk })
}

// saw takes a state that the watch reported.
func (s *store) saw(e *entry) {
	s.change(func(report func(ChangeType, *entry)) {
		s.reached(e)
		s.see(e, report)
	})
}

func (s *store) reached(e *entry) {
	if k := s.kinds[e.key.GroupKind()]; k != nil {
		k.seen = e.rv
	}
}

func (s *store) see(e *entry, report func(ChangeType, *entry)) {
	if s.kinds[e.key.GroupKind()] == nil {
		return
	}
	if _, gone := s.gone[e.uid]; gone {
		return
	}
	if v, ok := s.written[e.key]; ok && !newer(v, e.rv) {
		delete(s.written, e.key)
	}
	s.put(e, report)
}

// put stores a state unless a newer or the same one is there.
func (s *store) put(e *entry, report func(ChangeType, *entry)) bool {
	old := s.objects[e.key]
	switch {
	case old == nil:
		s.add(e)
		report(Added, e)
	case !newer(e.rv, old.rv):
		return false
	case old.uid != e.uid:
		// Deleted and made again between two states that we saw.
		s.remove(old)
		report(Deleted, old)
		s.add(e)
		report(Added, e)
	default:
		s.remove(old)
		s.add(e)
		report(Modified, e)
	}
	return true
}

// sawDeleted takes the last state of an object whose deletion the watch reported.
func (s *store) sawDeleted(e *entry) {
	s.change(func(report func(ChangeType, *entry)) {
		s.reached(e)
		delete(s.gone, e.uid)
		old := s.objects[e.key]
		if old == nil || old.uid != e.uid {
			return
		}
		delete(s.written, e.key)
		s.remove(old)
		report(Deleted, old)
	})
}

// sawAll takes a complete list of a kind as of a version.
func (s *store) sawAll(gk schema.GroupKind, list []*entry, version string) {
	s.change(func(report func(ChangeType, *entry)) {
		k := s.kinds[gk]
		if k == nil {
			return
		}
		k.seen = version
		listed := make(map[manifest.Key]types.UID, len(list))
		live := make(map[types.UID]struct{}, len(list))
		for _, e := range list {
			listed[e.key] = e.uid
			live[e.uid] = struct{}{}
			s.see(e, report)
		}
		for _, key := range sorted(k.keys) {
			e := s.objects[key]
			if uid, ok := listed[key]; ok && uid == e.uid {
				continue
			}
			if v, ok := s.written[key]; ok && newer(v, version) {
				continue
			}
			delete(s.written, key)
			s.remove(e)
			report(Deleted, e)
		}
		// A deletion that the list already reflects will not be reported.
		maps.DeleteFunc(s.gone, func(uid types.UID, key manifest.Key) bool {
			_, there := live[uid]
			return key.GroupKind() == gk && !there
		})
	})
}

// wrote takes the state that one of our writes returned.
func (s *store) wrote(e *entry) {
	s.change(func(report func(ChangeType, *entry)) {
		if k := s.kinds[e.key.GroupKind()]; k == nil || !newer(e.rv, k.seen) {
			return
		}
		if s.put(e, report) {
			s.written[e.key] = e.rv
		}
	})
}

// removed takes note that a deletion of ours took the object away at once. An
// empty UID stands for the object that is cached.
func (s *store) removed(key manifest.Key, uid types.UID) {
	s.change(func(report func(ChangeType, *entry)) {
		if s.kinds[key.GroupKind()] == nil {
			return
		}
		old := s.objects[key]
		if uid == "" && old != nil {
			uid = old.uid
		}
		if uid == "" || old != nil && old.uid != uid {
			return
		}
		if old != nil {
			s.gone[uid] = key
			delete(s.written, key)
			s.remove(old)
			report(Deleted, old)
		}
	})
}

func (s *store) add(e *entry) {
	s.objects[e.key] = e
	s.kinds[e.key.GroupKind()].keys[e.key] = struct{}{}
	for _, owner := range e.owners {
		link(s.children, owner, e.key)
	}
	if e.app != "" {
		link(s.apps, e.app, e.key)
	}
}

func (s *store) remove(e *entry) {
	delete(s.objects, e.key)
	delete(s.kinds[e.key.GroupKind()].keys, e.key)
	for _, owner := range e.owners {
		unlink(s.children, owner, e.key)
	}
	if e.app != "" {
		unlink(s.apps, e.app, e.key)
	}
}

func link[K comparable](index map[K]map[manifest.Key]struct{}, by K, key manifest.Key) {
	if index[by] == nil {
		index[by] = map[manifest.Key]struct{}{}
	}
	index[by][key] = struct{}{}
}

func unlink[K comparable](index map[K]map[manifest.Key]struct{}, by K, key manifest.Key) {
	if delete(index[by], key); len(index[by]) == 0 {
		delete(index, by)
	}
}

// keysOf returns the keys of a kind, none if it is not watched.
func (s *store) keysOf(gk schema.GroupKind) map[manifest.Key]struct{} {
	if k := s.kinds[gk]; k != nil {
		return k.keys
	}
	return nil
}

func (s *store) get(key manifest.Key) (*entry, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, ok := s.objects[key]
	return e, ok
}

// pick returns the entries of an index, ordered by key.
func (s *store) pick(keys func() map[manifest.Key]struct{}) []*entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	order := sorted(keys())
	entries := make([]*entry, len(order))
	for i, k := range order {
		entries[i] = s.objects[k]
	}
	return entries
}

func sorted(keys map[manifest.Key]struct{}) []manifest.Key {
	return slices.SortedFunc(maps.Keys(keys), manifest.Key.Compare)
}
