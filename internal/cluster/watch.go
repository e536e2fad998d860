// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

const (
	// patience is how long a kind may fail to sync for reasons that pass before
	// those who wait for it are told.
	patience = 3 * time.Second
	// refusedPause spaces attempts to watch a kind that we may not watch.
	refusedPause = 30 * time.Second
	// steady is how long a watch must last to count as working.
	steady = 10 * time.Second
)

// Watch has kinds watched and returns when they are synced. Kinds that are
// watched already cost nothing. The error is a *WatchError that names the kinds
// for which it did not work; the others are watched all the same, and those that
// failed are tried again in the background. Nothing happens before Start runs. Of
// a kind that is watched namespace by namespace one has to work: Beyond tells of
// the others.
func (c *Cluster) Watch(ctx context.Context, gks ...schema.GroupKind) error {
	select {
	case <-c.started:
	case <-ctx.Done():
		return fmt.Errorf("wait for the connection to %s to be started: %w", c.server, ctx.Err())
	case <-c.life.Done():
		return c.closed()
	}
	gks = slices.Clone(gks)
	slices.SortFunc(gks, func(a, b schema.GroupKind) int {
		return slices.Compare([]string{a.Group, a.Kind}, []string{b.Group, b.Kind})
	})
	gks = slices.Compact(gks)
	var failed WatchError
	watches := make([]*kindWatch, len(gks))
	for i, gk := range gks {
		w, err := c.ensure(gk)
		if err != nil {
			failed.Kinds = append(failed.Kinds, KindError{gk, err})
		}
		watches[i] = w
	}
	for i, w := range watches {
		if w == nil {
			continue
		}
		if err := c.awaitWatch(ctx, w); err != nil {
			failed.Kinds = append(failed.Kinds, KindError{gks[i], err})
		}
	}
	if len(failed.Kinds) == 0 {
		return nil
	}
	return &failed
}

// awaitWatch returns when a watch is synced, or the one that has taken its place
// because the kind came to be served in another version.
func (c *Cluster) awaitWatch(ctx context.Context, w *kindWatch) error {
	for {
		err := w.await(ctx)
		if err == nil || ctx.Err() != nil || c.life.Err() != nil || c.watchOf(w.kind) == w {
			return err
		}
		next, err := c.ensure(w.kind)
		if next == nil || err != nil {
			return err
		}
		w = next
	}
}

func (c *Cluster) closed() error {
	return &Error{Op: "use the connection to", Server: c.server, Reason: Cancelled, Err: errors.New("it is closed")}
}

// ensure starts the watch of a kind unless it runs; there is none of a kind that
// is excluded or beyond the connection's reach.
func (c *Cluster) ensure(gk schema.GroupKind) (*kindWatch, error) {
	c.mu.Lock()
	w := c.watches[gk]
	c.wanted[gk] = true
	excluded := c.excludes(gk)
	c.mu.Unlock()
	if w != nil || excluded {
		return w, nil
	}
	res, err := c.Resolve(gk.WithVersion(""))
	if err != nil {
		return nil, err
	}
	if !c.reach.covers(res.Namespaced) {
		return nil, nil
	}
	if !res.Watchable {
		return nil, &Error{Op: "watch " + gk.String() + " on", Server: c.server, Reason: Rejected, Err: errors.New("the API server does not let this kind be watched")}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.watches[gk]; w != nil || c.excludes(gk) {
		return w, nil
	}
	if c.life.Err() != nil {
		return nil, c.closed()
	}
	ctx, stop := context.WithCancel(c.life)
	w = &kindWatch{c: c, kind: gk, res: res, stop: stop, done: make(chan struct{})}
	places := c.reach.places(res.Namespaced)
	for _, namespace := range places {
		w.parts = append(w.parts, &watchPart{w: w, namespace: namespace, changed: make(chan struct{})})
	}
	c.watches[gk] = w
	c.store.hold(gk, places...)
	go w.run(ctx)
	return w, nil
}

// watchOf returns the watch of a kind, nil if there is none.
func (c *Cluster) watchOf(gk schema.GroupKind) *kindWatch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watches[gk]
}

// review compares the watches with what discovery says now: kinds that are not
// served any more, or not in the version we watch, are dropped, wanted ones that
// are served again are watched.
func (c *Cluster) review(group string) {
	c.mu.Lock()
	var stale []*kindWatch
	var missing []schema.GroupKind
	for gk := range c.wanted {
		if gk.Group != group {
			continue
		}
		res, served := c.catalog.lookup(gk.WithVersion(""))
		w := c.watches[gk]
		if w != nil && (!served || w.res.GVR != res.GVR) {
			delete(c.watches, gk)
			stale = append(stale, w)
			w = nil
		}
		if w == nil && served {
			missing = append(missing, gk)
		}
	}
	c.mu.Unlock()
	c.end(stale)
	for _, gk := range missing {
		// A kind that cannot be watched now is reported to whoever asks for it.
		_, _ = c.ensure(gk)
	}
}

// openWatch opens a watch, again and again while the server does not answer: the
// watch then goes on where it was, and nothing is listed anew. Note is told of
// every attempt.
func (c *Cluster) openWatch(ctx context.Context, start func() (watch.Interface, error), note func(error)) (watch.Interface, error) {
	pause := newPause(c.clock)
	for {
		stream, err := start()
		note(err)
		if err == nil {
			return stream, nil
		}
		// A version that is too old or too new is answered with a new list.
		if r := reasonOf(err); (r != Unreachable && r != Busy) || apierrors.IsTimeout(err) {
			return nil, err
		}
		if !pause.wait(ctx) {
			return nil, ctx.Err()
		}
	}
}

// Stale returns why watched kinds are not up to date at the moment, nil if they
// are. Reading them still works and gives their last known state.
func (c *Cluster) Stale() error {
	c.mu.Lock()
	watches := make([]*kindWatch, 0, len(c.watches))
	for _, w := range c.watches {
		watches = append(watches, w)
	}
	c.mu.Unlock()
	slices.SortFunc(watches, func(a, b *kindWatch) int {
		return slices.Compare([]string{a.kind.Group, a.kind.Kind}, []string{b.kind.Group, b.kind.Kind})
	})
	for _, w := range watches {
		for _, p := range w.parts {
			p.mu.Lock()
			err := p.err
			p.mu.Unlock()
			if err != nil {
				return c.problem(p.op(), subject{}, err)
			}
		}
	}
	return nil
}

// pause is a growing wait between attempts.
type pause struct {
	clock clock.Clock
	next  time.Duration
}

func newPause(c clock.Clock) *pause { return &pause{clock: c, next: 100 * time.Millisecond} }

// wait waits and reports whether ctx is still alive.
func (p *pause) wait(ctx context.Context) bool {
	timer := p.clock.NewTimer(p.next)
	defer timer.Stop()
	p.next = min(2*p.next, 5*time.Second)
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}
