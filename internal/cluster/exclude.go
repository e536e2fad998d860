// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "k8s.io/apimachinery/pkg/runtime/schema"

// Exclude sets which kinds are never watched, whoever asks for them: their objects
// do not exist for readers of the cache. A watch of such a kind ends.
func (c *Cluster) Exclude(excluded func(schema.GroupKind) bool) {
	c.mu.Lock()
	c.excluded = excluded
	var ending []*kindWatch
	for gk, w := range c.watches {
		if excluded(gk) {
			delete(c.watches, gk)
			ending = append(ending, w)
		}
	}
	c.mu.Unlock()
	c.end(ending)
}

// end ends watches that are not among those of the cluster any more.
func (c *Cluster) end(watches []*kindWatch) {
	for _, w := range watches {
		w.stop()
		<-w.done
		c.store.drop(w.kind)
	}
}

// excludes is called with c.mu held.
func (c *Cluster) excludes(gk schema.GroupKind) bool { return c.excluded != nil && c.excluded(gk) }
