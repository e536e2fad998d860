// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// outsideEvery is how often it is looked whether a kind is served by now that others
// bring, and of which something is waited for: no event tells.
const outsideEvery = 5 * time.Second

// watchOutside has the kinds watched that were not served when the run began and that
// it waits for now. It returns when it wants to be called again, zero if not, and
// whether one has come.
func (r *Run) watchOutside(ctx context.Context) (next time.Time, came bool) {
	r.mu.Lock()
	waits := r.machine.Waiting()
	r.mu.Unlock()
	now := r.driver.opts.Clock.Now()
	r.late = slices.DeleteFunc(r.late, func(gk schema.GroupKind) bool {
		waited := false
		for _, key := range waits {
			waited = waited || key.GroupKind() == gk
		}
		switch {
		case !waited:
			return false
		case now.Before(r.lateAsked.Add(outsideEvery)):
			next = r.lateAsked.Add(outsideEvery)
			return false
		case r.cluster.Watch(ctx, gk) == nil:
			came = true
			return true
		}
		next = now.Add(outsideEvery)
		return false
	})
	if !next.IsZero() && next.Equal(now.Add(outsideEvery)) {
		r.lateAsked = now
	}
	return next, came
}
