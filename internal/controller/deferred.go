// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"github.com/wavetrain/wavetrain/internal/inventory"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// putOff reports whether an operation has left the object for later, because
// something still used it.
func (s *session) putOff(c inventory.Candidate) bool {
	for _, e := range s.st.memory.Deferred {
		if e.Key == c.Key && e.UID == c.Object.GetUID() {
			return true
		}
	}
	return false
}

// deferred are the superfluous objects that wait for the end of what uses them:
// put off by an operation, or about to be.
func (s *session) deferred() map[manifest.Key]bool {
	keys := map[manifest.Key]bool{}
	for _, c := range s.comparison.Superfluous {
		if c.Holder != (manifest.Key{}) && s.putOff(c) {
			keys[c.Key] = true
		}
	}
	for _, g := range s.comparison.Plan.Groups {
		for _, step := range g.Steps {
			if step.Deferred {
				keys[step.Key] = true
			}
		}
	}
	return keys
}

// catchUp prunes what operations have put off and nothing uses any more, or what is
// not to be put off any more.
func (s *session) catchUp(ctx context.Context) error {
	var free []manifest.Key
	atOnce := s.ownOptions().Has("DeferPrune=false")
	for _, c := range s.comparison.Superfluous {
		if (c.Holder == (manifest.Key{}) || atOnce) && c.Keep == "" && s.putOff(c) {
			free = append(free, c.Key)
		}
	}
	if len(free) == 0 {
		return nil
	}
	op := s.automatedOperation(free)
	op.Sync.Prune = true
	if s.automationWaits(op) {
		return nil
	}
	return s.launch(ctx, op, s.st.desired, newOperationID(), 1)
}
