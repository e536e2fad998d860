// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

func TestQueueAdmitsWhoBeganFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(1)
		first, second, third := q.begin(true), q.begin(true), q.begin(true)
		person := q.begin(false)
		if !q.take(t.Context(), third) {
			t.Fatal("a free queue does not admit")
		}
		var order []string // of calls one after the other, as only one is admitted
		var waiting sync.WaitGroup
		for _, c := range []struct {
			name string
			turn turn
		}{{"third", third}, {"second", second}, {"first", first}, {"person", person}, {"first again", first}} {
			waiting.Go(func() {
				if q.take(t.Context(), c.turn) {
					order = append(order, c.name)
					q.give()
				}
			})
			synctest.Wait()
		}
		q.give()
		waiting.Wait()
		if want := []string{"person", "first", "first again", "second", "third"}; !slices.Equal(order, want) && !slices.Equal(order, []string{"person", "first again", "first", "second", "third"}) {
			t.Errorf("admitted %v, want %v", order, want)
		}
		if q.free != 1 {
			t.Errorf("%d are free in the end, want 1", q.free)
		}
	})
}

// TestQueueForgetsWhoGaveUp has calls give up at every moment: the queue must have
// all of its places in the end.
func TestQueueForgetsWhoGaveUp(t *testing.T) {
	q := NewQueue(3)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			all.Go(cancel)
			if q.take(ctx, q.begin(i%3 == 0)) {
				q.give()
			}
		})
	}
	all.Wait()
	if q.free != 3 || len(q.waiting) > 0 {
		t.Errorf("%d are free and %d wait, want 3 and none", q.free, len(q.waiting))
	}
}
