// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// Asks reports whether the run waits for a person to agree to prunes.
func (r *Run) Asks() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.machine.Asks()
}

// Asking is what Asks came to when the run looked last; it never blocks.
func (r *Run) Asking() bool { return r.asking.Load() }

// Restore has objects that the run has applied, and that somebody has changed since,
// applied once more while it waits for a person. It returns those for which that will
// be done.
func (r *Run) Restore(keys []manifest.Key) []manifest.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.machine.Asks() {
		return nil
	}
	r.drifted = keys
	var accepted []manifest.Key
	for _, a := range r.machine.Restore(keys) {
		accepted = append(accepted, a.Key)
	}
	r.nudge()
	return accepted
}

// restore does what Restore asked for; it reports whether anything was done. That an
// object cannot be restored changes nothing for the run: it is drift as before.
func (r *Run) restore(ctx context.Context) (bool, error) {
	r.mu.Lock()
	var actions []machine.Action
	if r.machine.Asks() {
		actions = r.machine.Restore(r.drifted)
	}
	r.drifted = nil
	r.mu.Unlock()
	if len(actions) == 0 {
		return false, nil
	}
	for _, a := range actions {
		result := machine.Result{Action: a}
		err := r.call(ctx, func(ctx context.Context) error { return r.do(ctx, a, &result) })
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if err != nil {
			result.Err = worded(err)
		}
		r.mu.Lock()
		r.machine.Restored(result)
		r.record = r.machine.Record()
		r.mu.Unlock()
	}
	return true, r.save(ctx, false)
}
