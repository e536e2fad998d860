// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"time"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// maxExplained bounds how many objects are asked about at a time.
const maxExplained = 5

// Pace is how soon and how often it is told what a rollout waits for.
type Pace struct {
	// After is how long a wait lasts before the cluster is asked for its reason. Most
	// waits are shorter, and to ask about them would keep the cluster from what they
	// wait for. Defaults to three seconds.
	After time.Duration
	// Every is how often it is asked again. Defaults to five seconds.
	Every time.Duration
}

// WithDefaults fills in what is not set.
func (p Pace) WithDefaults() Pace {
	return Pace{After: cmp.Or(p.After, 3*time.Second), Every: cmp.Or(p.Every, 5*time.Second)}
}

// hints are the reasons why objects that are waited for do not get on. They are
// found in the background: what opens a gate must not wait for what explains it.
type hints struct {
	mu      sync.Mutex
	texts   map[manifest.Key]string
	since   time.Time
	asked   time.Time
	running sync.WaitGroup
	busy    bool
}

func (h *hints) of(key manifest.Key) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.texts[key]
}

// due reports whether it is time to ask about waits, else when it will be; the
// zero time stands for never.
func (h *hints) due(waits bool, now time.Time, pace Pace) (bool, time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !waits {
		h.since, h.texts = time.Time{}, nil
		return false, time.Time{}
	}
	if h.since.IsZero() {
		h.since = now
	}
	if h.busy {
		return false, time.Time{}
	}
	at := h.since.Add(pace.After)
	if next := h.asked.Add(pace.Every); next.After(at) {
		at = next
	}
	if now.Before(at) {
		return false, at
	}
	h.asked, h.busy = now, true
	h.running.Add(1)
	return true, now.Add(pace.Every)
}

// set stores what was found; it reports whether that is new.
func (h *hints) set(texts map[manifest.Key]string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.busy = false
	if maps.Equal(h.texts, texts) {
		return false
	}
	h.texts = texts
	return true
}

// explain has the reasons looked up of what is waited for, if it is time. It
// returns when it wants to be called again, zero if not.
func (r *Run) explain(ctx context.Context) time.Time {
	r.mu.Lock()
	waits := r.machine.Waiting()
	r.mu.Unlock()
	due, next := r.hints.due(len(waits) > 0, r.driver.opts.Clock.Now(), r.driver.opts.Pace)
	if !due {
		return next
	}
	go func() {
		defer r.hints.running.Done()
		texts := map[manifest.Key]string{}
		// What explains has to wait for what is done.
		if !r.driver.opts.Queue.take(ctx, turnLast()) {
			return
		}
		defer r.driver.opts.Queue.give()
		for _, key := range waits[:min(len(waits), maxExplained)] {
			if text := r.reason(ctx, key); text != "" {
				texts[key] = text
			}
		}
		if r.hints.set(texts) {
			r.nudge()
		}
	}()
	return next
}

// reason says why an object does not get on: down to the cause if the operation knows
// how to find it, else in the cluster's words.
func (r *Run) reason(ctx context.Context, key manifest.Key) string {
	if r.op.Explain == nil {
		return r.cluster.Blocked(ctx, key)
	}
	return r.op.Explain(ctx, key)
}
