// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"container/heap"
	"context"
	"math"
	"sync"
)

// DefaultWrites is how many calls to one cluster its operations make at once,
// unless told otherwise.
const DefaultWrites = 16

// Queue bounds how many calls the operations on one cluster make at once. What a
// person asked for comes before what was automated, and an operation that began
// earlier before one that began later: so that of many operations the first are
// soon done, instead of all being done at the very end.
type Queue struct {
	mu      sync.Mutex
	free    int
	begun   uint64
	waiting turns
}

// NewQueue returns a queue for n calls at once; DefaultWrites if n is not positive.
func NewQueue(n int) *Queue {
	if n <= 0 {
		n = DefaultWrites
	}
	return &Queue{free: n}
}

// turn is the place of an operation: of two the lesser comes first.
type turn struct {
	automated bool
	number    uint64
}

// turnLast comes after all operations.
func turnLast() turn { return turn{automated: true, number: math.MaxUint64} }

func (t turn) before(other turn) bool {
	if t.automated != other.automated {
		return other.automated
	}
	return t.number < other.number
}

// begin gives an operation its place.
func (q *Queue) begin(automated bool) turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.begun++
	return turn{automated: automated, number: q.begun}
}

// waiter is a call that waits. Admitted is closed when its time has come.
type waiter struct {
	turn     turn
	admitted chan struct{}
	at       int
}

// take waits until a call may be made. It returns false, and nothing has to be
// given back, if ctx ends before.
func (q *Queue) take(ctx context.Context, t turn) bool {
	q.mu.Lock()
	if q.free > 0 {
		q.free--
		q.mu.Unlock()
		return true
	}
	w := &waiter{turn: t, admitted: make(chan struct{})}
	heap.Push(&q.waiting, w)
	q.mu.Unlock()
	select {
	case <-w.admitted:
		return true
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-w.admitted: // in the very moment in which it was not wanted any more
		q.next()
	default:
		heap.Remove(&q.waiting, w.at)
	}
	return false
}

// give lets the next call be made.
func (q *Queue) give() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next()
}

func (q *Queue) next() {
	if len(q.waiting) == 0 {
		q.free++
		return
	}
	if w, ok := heap.Pop(&q.waiting).(*waiter); ok {
		close(w.admitted)
	}
}

// turns is a heap of what waits.
type turns []*waiter

// Len implements heap.Interface.
func (t *turns) Len() int { return len(*t) }

// Less implements heap.Interface.
func (t *turns) Less(i, j int) bool { return (*t)[i].turn.before((*t)[j].turn) }

// Swap implements heap.Interface.
func (t *turns) Swap(i, j int) {
	all := *t
	all[i], all[j] = all[j], all[i]
	all[i].at, all[j].at = i, j
}

// Push implements heap.Interface.
func (t *turns) Push(x any) {
	if w, ok := x.(*waiter); ok {
		w.at = len(*t)
		*t = append(*t, w)
	}
}

// Pop implements heap.Interface.
func (t *turns) Pop() any {
	last := len(*t) - 1
	w := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	return w
}
