// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// looseShare is which part of the entries must have come since they were moved
// together for that to be done again: what is moved is in memory twice for a moment.
const looseShare = 4

// Rest moves together what is kept of live objects. It came piece by piece, between
// much that was of use for a moment, and Go gives no memory back in which anything
// is left.
func (c *Cluster) Rest() { c.store.compact() }

// compact replaces entries by copies that lie side by side.
func (s *store) compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := 0
	for _, k := range s.kinds {
		total += len(k.objects)
	}
	if s.loose*looseShare < total || total == 0 {
		return
	}
	s.loose = 0
	var room shelf
	moved := make(map[*entry]*entry, total)
	for _, k := range s.kinds {
		objects := make(map[spot]*entry, len(k.objects))
		for _, e := range k.objects {
			to := room.put(e)
			objects[to.at()], moved[e] = to, to
		}
		k.objects = objects
	}
	for id, list := range s.children {
		s.children[id] = room.list(list, moved)
	}
	for app, list := range s.apps {
		s.apps[app] = room.list(list, moved)
	}
}

// Sizes of what a shelf is made of: beyond 32 KiB Go gives memory of its own to each.
const (
	shelfEntries = 512
	shelfText    = 64 << 10
)

// shelf is memory for many entries and all that belongs to them.
type shelf struct {
	entries []entry
	rares   []rarely
	owners  []types.UID
	lists   []*entry
	text    strings.Builder
}

// put copies an entry onto the shelf.
func (r *shelf) put(e *entry) *entry {
	to := one(&r.entries, shelfEntries)
	*to = *e
	to.body = r.keep(e.body)
	if e.rare == nil {
		return to
	}
	to.rare = one(&r.rares, shelfEntries)
	*to.rare = rarely{uid: types.UID(r.keep(string(e.rare.uid))), version: r.keep(e.rare.version), tracking: r.keep(e.rare.tracking)}
	if len(e.rare.owners) > 0 {
		to.rare.owners = several(&r.owners, len(e.rare.owners))
		for i, owner := range e.rare.owners {
			to.rare.owners[i] = types.UID(r.keep(string(owner)))
		}
	}
	return to
}

// keep copies text. What was written to a builder stays where it is for as long as
// there is room.
func (r *shelf) keep(text string) string {
	if r.text.Cap()-r.text.Len() < len(text) {
		r.text = strings.Builder{}
		r.text.Grow(max(shelfText, len(text)))
	}
	at := r.text.Len()
	r.text.WriteString(text)
	return r.text.String()[at:]
}

// list is a list of entries with those that took their place.
func (r *shelf) list(entries []*entry, moved map[*entry]*entry) []*entry {
	to := several(&r.lists, len(entries))
	for i, e := range entries {
		to[i] = moved[e]
	}
	return to
}

func one[T any](room *[]T, atOnce int) *T {
	if len(*room) == cap(*room) {
		*room = make([]T, 0, atOnce)
	}
	*room = (*room)[:len(*room)+1]
	return &(*room)[len(*room)-1]
}

// several returns n of a room; more than that cannot be appended in place.
func several[T any](room *[]T, n int) []T {
	if cap(*room)-len(*room) < n {
		*room = make([]T, 0, max(n, 8*shelfEntries))
	}
	at := len(*room)
	*room = (*room)[:at+n]
	return (*room)[at : at+n : at+n]
}
