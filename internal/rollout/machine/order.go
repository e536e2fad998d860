// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import "github.com/wavetrain/wavetrain/internal/plan"

// batches orders the tasks that write something and cuts them into runs of one
// kind that are applied together, one run after another. The order is the
// plan's, by kind; what a run must follow is pulled in front of it, so that a
// producer of a custom kind does not wait for the workload that waits for it.
func batches(tasks []*task) [][]*task {
	o := order{byID: map[string]*task{}, taken: map[string]bool{}}
	var writing []*task
	for _, t := range tasks {
		if !t.prunes() {
			writing = append(writing, t)
			o.byID[t.step.ID] = t
		}
	}
	for _, run := range runs(writing) {
		for _, t := range run {
			o.precede(t)
		}
		for _, t := range run {
			o.take(t)
		}
	}
	for place, t := range o.out {
		t.place = place
	}
	return runs(o.out)
}

// runs cuts tasks into runs of equal kind.
func runs(tasks []*task) [][]*task {
	var out [][]*task
	for _, t := range tasks {
		if n := len(out); n == 0 || out[n-1][0].key.GroupKind() != t.key.GroupKind() {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], t)
	}
	return out
}

type order struct {
	byID  map[string]*task
	taken map[string]bool
	out   []*task
}

// precede takes everything that t must follow.
func (o *order) precede(t *task) {
	for _, id := range predecessors(t.step) {
		if before := o.byID[id]; before != nil {
			o.visit(before)
		}
	}
}

// visit takes t after what it must follow. Marking it first ends a cycle: the
// step that closes it keeps its place by kind, as the plan has announced.
func (o *order) visit(t *task) {
	if o.taken[t.step.ID] {
		return
	}
	o.taken[t.step.ID] = true
	o.precede(t)
	o.out = append(o.out, t)
}

func (o *order) take(t *task) {
	if !o.taken[t.step.ID] {
		o.taken[t.step.ID] = true
		o.out = append(o.out, t)
	}
}

// predecessors returns the ids of the steps that s names as coming first.
func predecessors(s *plan.Step) []string {
	ids := make([]string, 0, len(s.After)+len(s.Needs))
	ids = append(ids, s.After...)
	for _, need := range s.Needs {
		ids = append(ids, need.ByStep)
	}
	return ids
}
