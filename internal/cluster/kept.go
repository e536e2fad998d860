// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kept is what the live cache has of a watched kind.
type Kept struct {
	Kind schema.GroupKind
	// Objects is how many of them are kept.
	Objects int
	// Lists is how often the kind was read as a whole: once to begin with, in each
	// namespace by itself if that is how it is watched, and once more whenever a
	// watch could not go on where it was.
	Lists int
	// Stale is true if a watch does not work at the moment.
	Stale bool
	// Forbidden are the namespaces in which the kind may not be read; an empty one
	// stands for all of them.
	Forbidden []string
}

// Kept returns what is kept of the watched kinds, ordered by group and kind. Kinds
// that may not be read are among them.
func (c *Cluster) Kept() []Kept {
	c.mu.Lock()
	watches := slices.Collect(maps.Values(c.watches))
	lists := maps.Clone(c.lists)
	c.mu.Unlock()
	all := make([]Kept, len(watches))
	for i, w := range watches {
		all[i] = Kept{Kind: w.kind, Objects: c.store.size(w.kind), Lists: lists[w.kind]}
		for _, p := range w.parts {
			p.mu.Lock()
			err := p.err
			p.mu.Unlock()
			all[i].Stale = all[i].Stale || err != nil
			if apierrors.IsForbidden(err) {
				all[i].Forbidden = append(all[i].Forbidden, p.namespace)
			}
		}
	}
	slices.SortFunc(all, func(a, b Kept) int {
		return cmp.Or(cmp.Compare(a.Kind.Group, b.Kind.Group), cmp.Compare(a.Kind.Kind, b.Kind.Kind))
	})
	return all
}

// listed notes that a kind was read as a whole.
func (c *Cluster) listed(gk schema.GroupKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists[gk]++
}
