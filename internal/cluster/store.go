// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"slices"
	"sync"
	"unique"

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

	mu    sync.RWMutex
	kinds map[schema.GroupKind]*kind
	// children holds what an owner's identity owns, apps what an application's
	// mark is on.
	children map[identity][]*entry
	apps     map[unique.Handle[string]][]*entry
	// gone holds the UIDs of objects that we deleted and whose deletion the watch
	// has not reported yet: whatever it says of them is outdated.
	gone map[identity]manifest.Key
	// written holds versions that our writes returned and the watch has not
	// reached yet: a list older than that does not remove the object.
	written map[manifest.Key]resourceVersion
	labels  labelIndex
	// loose counts the entries that came since compact, gone or not.
	loose int
}

// kind is what the store holds of one watched kind.
type kind struct {
	objects map[spot]*entry
	// seen is the version that a watch has reached, by its namespace; empty for one
	// of all namespaces. Its events come in the order of their versions, so the
	// answer to a write of an earlier one is old news: the object may be gone again.
	seen map[string]resourceVersion
}

// watchedBy returns the namespace of the watch that tells of the objects in a
// namespace; false if none does.
func (k *kind) watchedBy(namespace string) (of string, watched bool) {
	if _, all := k.seen[""]; all {
		return "", true
	}
	_, watched = k.seen[namespace]
	return namespace, watched
}

// reached notes which version the watch of a namespace has reached.
func (k *kind) reached(namespace string, version resourceVersion) {
	if of, watched := k.watchedBy(namespace); watched {
		k.seen[of] = version
	}
}

// spot is where an object of a kind is.
type spot struct {
	namespace unique.Handle[string]
	name      string
}

func newStore() *store {
	return &store{
		subs:     map[int]func(Change){},
		kinds:    map[schema.GroupKind]*kind{},
		children: map[identity][]*entry{},
		apps:     map[unique.Handle[string]][]*entry{},
		gone:     map[identity]manifest.Key{},
		written:  map[manifest.Key]resourceVersion{},
	}
}

// change runs fn under the lock and tells subscribers what it reports.
func (s *store) change(fn func(report func(ChangeType, *entry))) {
	s.order.Lock()
	defer s.order.Unlock()
	var changes []Change
	s.mu.Lock()
	fn(func(t ChangeType, e *entry) {
		changes = append(changes, Change{Type: t, Key: e.key(), UID: e.uid(), Owners: e.owners(), TrackingID: e.tracking()})
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

// hold makes room for a kind, in some namespaces or, without any, in all: only
// then are our own writes of it kept.
func (s *store) hold(gk schema.GroupKind, namespaces ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kinds[gk] != nil {
		return
	}
	k := &kind{objects: map[spot]*entry{}, seen: map[string]resourceVersion{}}
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, namespace := range namespaces {
		k.seen[namespace] = resourceVersion{}
	}
	s.kinds[gk] = k
}

// holds reports whether objects of a kind are kept.
func (s *store) holds(gk schema.GroupKind) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.kinds[gk] != nil
}

// size is how many objects of a kind are kept.
func (s *store) size(gk schema.GroupKind) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if k := s.kinds[gk]; k != nil {
		return len(k.objects)
	}
	return 0
}

// drop forgets a kind that is not watched any more.
func (s *store) drop(gk schema.GroupKind) {
	s.change(func(report func(ChangeType, *entry)) {
		if k := s.kinds[gk]; k != nil {
			for _, e := range inOrder(slices.Collect(maps.Values(k.objects))) {
				s.remove(e)
				report(Deleted, e)
			}
		}
		delete(s.kinds, gk)
		s.forget(gk)
	})
}

// forget drops what we remember of our own writes of a kind.
func (s *store) forget(gk schema.GroupKind) {
	maps.DeleteFunc(s.gone, func(_ identity, k manifest.Key) bool { return k.GroupKind() == gk })
	maps.DeleteFunc(s.written, func(k manifest.Key, _ resourceVersion) bool { return k.GroupKind() == gk })
}

// knows reports whether a state is there already, or a newer one: then there is
// no need to make an entry of it.
func (s *store) knows(key manifest.Key, uid types.UID, version resourceVersion) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e := s.at(key)
	return e != nil && e.uid() == uid && !version.newer(e.rv())
}

// reaches notes that the watch has reported a state that is known.
func (s *store) reaches(key manifest.Key, version resourceVersion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached(key, version)
}

// saw takes a state that the watch reported.
func (s *store) saw(e *entry) {
	s.change(func(report func(ChangeType, *entry)) {
		s.reached(e.key(), e.rv())
		s.see(e, report)
	})
}

func (s *store) reached(key manifest.Key, version resourceVersion) {
	if k := s.kinds[key.GroupKind()]; k != nil {
		k.reached(key.Namespace, version)
	}
	if v, ok := s.written[key]; ok && !v.newer(version) {
		delete(s.written, key)
	}
}

func (s *store) see(e *entry, report func(ChangeType, *entry)) {
	if s.kinds[e.groupKind()] == nil {
		return
	}
	if _, gone := s.gone[e.id]; gone {
		return
	}
	if v, ok := s.written[e.key()]; ok && !v.newer(e.rv()) {
		delete(s.written, e.key())
	}
	s.put(e, report)
}

// put stores a state unless a newer or the same one is there.
func (s *store) put(e *entry, report func(ChangeType, *entry)) bool {
	old := s.at(e.key())
	switch {
	case old == nil:
		s.add(e)
		report(Added, e)
	case !e.rv().newer(old.rv()):
		return false
	case old.id != e.id:
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
func (s *store) sawDeleted(key manifest.Key, uid types.UID, version resourceVersion) {
	s.change(func(report func(ChangeType, *entry)) {
		if k := s.kinds[key.GroupKind()]; k != nil {
			k.reached(key.Namespace, version)
		}
		id, _ := identify(uid)
		delete(s.gone, id)
		old := s.at(key)
		if old == nil || old.id != id {
			return
		}
		delete(s.written, key)
		s.remove(old)
		report(Deleted, old)
	})
}

// atOnce bounds how many changes of a list are made and told together.
const atOnce = 500

// sawAll takes a complete list of a kind as of a version, in a namespace or, if
// that is empty, in all.
func (s *store) sawAll(gk schema.GroupKind, namespace string, list []*entry, version resourceVersion) {
	listed := make(map[spot]identity, len(list))
	live := make(map[identity]struct{}, len(list))
	for _, e := range list {
		listed[e.at()] = e.id
		live[e.id] = struct{}{}
	}
	for part := range slices.Chunk(list, atOnce) {
		s.change(func(report func(ChangeType, *entry)) {
			for _, e := range part {
				s.see(e, report)
			}
		})
	}
	s.change(func(report func(ChangeType, *entry)) {
		k := s.kinds[gk]
		if k == nil {
			return
		}
		k.reached(namespace, version)
		within := func(other string) bool { return namespace == "" || other == namespace }
		var missing []*entry
		for at, e := range k.objects {
			if !within(at.namespace.Value()) {
				continue
			}
			if id, ok := listed[at]; !ok || id != e.id {
				missing = append(missing, e)
			}
		}
		for _, e := range inOrder(missing) {
			if v, ok := s.written[e.key()]; ok && v.newer(version) {
				continue
			}
			delete(s.written, e.key())
			s.remove(e)
			report(Deleted, e)
		}
		// A deletion that the list already reflects will not be reported.
		maps.DeleteFunc(s.gone, func(id identity, key manifest.Key) bool {
			_, there := live[id]
			return key.GroupKind() == gk && within(key.Namespace) && !there
		})
	})
}

// wrote takes the state that one of our writes returned.
func (s *store) wrote(e *entry) {
	s.change(func(report func(ChangeType, *entry)) {
		k := s.kinds[e.groupKind()]
		if k == nil {
			return
		}
		of, watched := k.watchedBy(e.namespace.Value())
		if !watched || !e.rv().newer(k.seen[of]) {
			return
		}
		if s.put(e, report) {
			s.written[e.key()] = e.rv()
		}
	})
}

// removed takes note that a deletion of ours took the object away at once. An
// empty UID stands for the object that is cached.
func (s *store) removed(key manifest.Key, uid types.UID) {
	s.change(func(report func(ChangeType, *entry)) {
		old := s.at(key)
		if old == nil || uid != "" && old.uid() != uid {
			return
		}
		s.gone[old.id] = key
		delete(s.written, key)
		s.remove(old)
		report(Deleted, old)
	})
}

// at returns what is cached of an object.
func (s *store) at(key manifest.Key) *entry {
	if k := s.kinds[key.GroupKind()]; k != nil {
		return k.objects[spot{unique.Make(key.Namespace), key.Name}]
	}
	return nil
}

func (s *store) add(e *entry) {
	s.loose++
	s.kinds[e.groupKind()].objects[e.at()] = e
	for _, owner := range e.owners() {
		id, _ := identify(owner)
		s.children[id] = append(s.children[id], e)
	}
	if e.app != (unique.Handle[string]{}) {
		s.apps[e.app] = append(s.apps[e.app], e)
	}
	s.labels.add(e)
}

func (s *store) remove(e *entry) {
	delete(s.kinds[e.groupKind()].objects, e.at())
	for _, owner := range e.owners() {
		id, _ := identify(owner)
		unlink(s.children, id, e)
	}
	if e.app != (unique.Handle[string]{}) {
		unlink(s.apps, e.app, e)
	}
	s.labels.remove(e)
}

func unlink[K comparable](index map[K][]*entry, by K, e *entry) {
	list := index[by]
	i := slices.Index(list, e)
	if i < 0 {
		return
	}
	if len(list) == 1 {
		delete(index, by)
		return
	}
	// The order of an index does not count, and nobody else holds its list.
	last := len(list) - 1
	list[i], list[last] = list[last], nil
	index[by] = list[:last]
}

func (s *store) get(key manifest.Key) (*entry, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e := s.at(key)
	return e, e != nil
}

// ofKind returns the entries of a kind, ordered by key; none if it is not watched.
func (s *store) ofKind(gk schema.GroupKind) []*entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if k := s.kinds[gk]; k != nil {
		return inOrder(slices.Collect(maps.Values(k.objects)))
	}
	return nil
}

// ofApp returns the entries whose tracking id names an application, ordered by
// key.
func (s *store) ofApp(app string) []*entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return inOrder(slices.Clone(s.apps[unique.Make(app)]))
}

// ofOwner returns the entries that name an owner, ordered by key.
func (s *store) ofOwner(uid types.UID) []*entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id, _ := identify(uid)
	return inOrder(slices.Clone(s.children[id]))
}

func inOrder(entries []*entry) []*entry {
	slices.SortFunc(entries, func(a, b *entry) int { return a.key().Compare(b.key()) })
	return entries
}
