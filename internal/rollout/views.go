// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"
	"sync"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// views are observations that are made already. A group is looked at after every
// change of one of its objects; all others are as they were then, and to decode and
// judge them again is most of what a wait would cost.
type views struct {
	mu   sync.Mutex
	kept map[manifest.Key]view
}

// view is what was observed of an object in a state.
type view struct {
	state string
	machine.Observation
}

// stateOf tells the state of an object and of all below it from every other; it is
// empty if there is more to an observation than that: then it is not kept.
func (r *Run) stateOf(key manifest.Key) string {
	head, ok := r.cluster.Head(key)
	if !ok || len(health.AskedAbout(key.Kind)) > 0 {
		return ""
	}
	var state strings.Builder
	add := func(h cluster.Head) {
		for _, part := range []string{string(h.UID), "/", h.Version, " "} {
			_, _ = state.WriteString(part)
		}
	}
	add(head)
	descend(r.cluster, head.UID, add)
	return state.String()
}

func (v *views) recall(key manifest.Key, state string) (machine.Observation, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	known, ok := v.kept[key]
	return known.Observation, ok && state != "" && known.state == state
}

func (v *views) keep(key manifest.Key, state string, o machine.Observation) {
	if state == "" {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.kept == nil {
		v.kept = map[manifest.Key]view{}
	}
	v.kept[key] = view{state, o}
}

// forget has everything observed anew.
func (v *views) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.kept = nil
}
