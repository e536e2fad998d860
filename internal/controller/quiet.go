// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// quietAfter is how long nothing must have been looked at until the memory that
// the last work took is given back. It is a good while less than the two minutes
// after which the runtime collects by itself.
const quietAfter = 20 * time.Second

// quiet gives memory back when work is done. A controller works in bursts: what a
// burst has taken stays with the process otherwise, twice what is kept.
type quiet struct {
	looks atomic.Int64
	// release gives memory back.
	release func()
}

// newQuiet returns one that has rest drop what can be dropped before.
func newQuiet(rest func()) *quiet {
	return &quiet{release: func() {
		rest()
		debug.FreeOSMemory()
	}}
}

// run watches until ctx ends.
func (q *quiet) run(ctx context.Context) error {
	ticker := time.NewTicker(quietAfter)
	defer ticker.Stop()
	released := q.looks.Load()
	before := released
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		released, before = q.tick(released, before)
	}
}

// tick releases memory if nothing was looked at since the last one and something
// since the last release.
func (q *quiet) tick(released, before int64) (nextReleased, now int64) {
	now = q.looks.Load()
	if now == before && now != released {
		q.release()
		return now, now
	}
	return released, now
}
