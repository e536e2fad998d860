// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"sync"
	"time"
)

// simulated is the time of the simulation: the real one, and what was skipped. Durations of rules pass in it.
// What is written into objects is real time, because upstream's controllers compare it with theirs.
type simulated struct {
	mu    sync.Mutex
	total time.Duration
	skips []skip
}

// skip is a leap of the simulation's time.
type skip struct {
	from   time.Time
	length time.Duration
}

// Now is the time of the simulation.
func (c *simulated) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.total)
}

// Since is how much time of the simulation has passed.
func (c *simulated) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// real is the real time at a time of the simulation; what lies in a skip was when that happened.
func (c *simulated) real(t time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := t
	for _, s := range c.skips {
		if after := t.Sub(s.from); after > 0 {
			out = out.Add(-min(after, s.length))
		}
	}
	return out
}

func (c *simulated) skip(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skips = append(c.skips, skip{time.Now().Add(c.total), d})
	c.total += d
}

// agenda is what happens at a known time of the simulation.
type agenda struct {
	mu    sync.Mutex
	clock *simulated
	due   map[item]entry
	moved chan struct{}
}

// entry is when an item is due. A restart after a crash brings nothing new.
type entry struct {
	at      time.Time
	restart bool
}

func newAgenda(c *simulated) *agenda {
	return &agenda{clock: c, due: map[item]entry{}, moved: make(chan struct{}, 1)}
}

// put has an item looked at when t has come, unless that happens earlier anyway.
func (a *agenda) put(it item, t time.Time, restart bool) {
	a.mu.Lock()
	known, ok := a.due[it]
	if !ok || t.Before(known.at) {
		a.due[it] = entry{t, restart}
	}
	a.mu.Unlock()
	a.move()
}

// drop forgets what an item was waiting for; who looks at it now puts it in again.
func (a *agenda) drop(it item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.due, it)
}

func (a *agenda) move() {
	select {
	case a.moved <- struct{}{}:
	default:
	}
}

// take removes and returns what is due, and says when the next is; zero if nothing is.
func (a *agenda) take() (due []item, next time.Time) {
	now := a.clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	for it, e := range a.due {
		switch {
		case !e.at.After(now):
			due = append(due, it)
			delete(a.due, it)
		case next.IsZero() || e.at.Before(next):
			next = e.at
		}
	}
	return due, next
}

// next is how long it takes until something happens that is no restart after a crash.
func (a *agenda) next() (in time.Duration, pending bool) {
	now := a.clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.due {
		if left := max(0, e.at.Sub(now)); !e.restart && (!pending || left < in) {
			in, pending = left, true
		}
	}
	return in, pending
}

// run hands items to the queue when they are due, until ctx ends.
func (a *agenda) run(ctx context.Context, add func(item)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-a.moved:
		}
		due, next := a.take()
		for _, it := range due {
			add(it)
		}
		if !next.IsZero() {
			timer.Reset(max(0, next.Sub(a.clock.Now())))
		}
	}
}

// Next is how long it takes until the simulation does something by itself; none if it only waits for others.
func (s *Simulator) Next() (in time.Duration, pending bool) { return s.engine.agenda.next() }

// Skip lets time of the simulation pass at once. What is due by then happens now.
func (s *Simulator) Skip(d time.Duration) {
	s.engine.clock.skip(d)
	s.engine.agenda.move()
}
