// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// interest is the set of objects whose changes wake a run: those of the group in
// progress, what they wait for, and everything below them.
type interest struct {
	mu     sync.Mutex
	sorted []manifest.Key
	keys   map[manifest.Key]bool
	family map[types.UID]bool
}

// set replaces the keys, which are sorted; it reports whether they are others
// than before.
func (in *interest) set(keys []manifest.Key, live Live) bool {
	in.mu.Lock()
	if slices.Equal(in.sorted, keys) {
		in.mu.Unlock()
		return false
	}
	in.sorted = keys
	in.keys, in.family = make(map[manifest.Key]bool, len(keys)), map[types.UID]bool{}
	for _, k := range keys {
		in.keys[k] = true
	}
	in.mu.Unlock()
	// Changes that arrive from here on are matched against the new keys; families
	// of objects that exist already are added now.
	for _, k := range keys {
		if head, ok := live.Head(k); ok {
			in.adopt(head.UID)
			descend(live, head.UID, func(child cluster.Head) { in.adopt(child.UID) })
		}
	}
	return true
}

func (in *interest) adopt(uid types.UID) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.family != nil {
		in.family[uid] = true
	}
}

// concerns reports whether a change is of interest; its object joins the family.
func (in *interest) concerns(c cluster.Change) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.keys[c.Key] && !slices.ContainsFunc(c.Owners, func(uid types.UID) bool { return in.family[uid] }) {
		return false
	}
	in.family[c.UID] = true
	return true
}

// changed is called by the cluster for every change.
func (r *Run) changed(c cluster.Change) {
	if r.interest.concerns(c) {
		r.nudge()
	}
}

// maxDepth bounds the walk below an object: Deployment, ReplicaSet, Pod, and one
// kind of a custom controller above them.
const maxDepth = 4

// descend visits everything below an object.
func descend(live Live, uid types.UID, visit func(cluster.Head)) {
	var walk func(types.UID, int)
	walk = func(uid types.UID, depth int) {
		for _, child := range live.ChildHeads(uid) {
			visit(child)
			if depth < maxDepth {
				walk(child.UID, depth+1)
			}
		}
	}
	walk(uid, 1)
}
