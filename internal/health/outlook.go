// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"
)

// outlook says what the conditions of a kind mean. Most operators follow the same form; what differs is which
// conditions they write and which failures pass by themselves.
type outlook struct {
	// good conditions are True when all is well; all of them must be.
	good []string
	// anyGood accepts an object that reports only some of the good conditions.
	anyGood bool
	// bad conditions are True when something is wrong.
	bad []string
	// paused conditions are True when the operator was told to leave the object alone.
	paused []string
	// pausedBy are fields of the spec that are true when its owner paused the object.
	pausedBy []string
	// passing are reasons of failures that are work in progress.
	passing []string
	// patient is for operators that make a good condition False for work in progress too.
	patient bool
}

// byOutlook judges by conditions. A failure outweighs whatever else is still on its way.
func (s subject) byOutlook(o outlook) Result {
	for _, field := range o.pausedBy {
		if s.spec.isTrue(field) {
			return suspended("Paused", "its spec says "+field+": true")
		}
	}
	if s.behind() {
		return s.unobserved()
	}
	for _, kind := range o.bad {
		if c, ok := s.condition(kind); ok && c.isTrue() && !s.stale(c) {
			return o.failure(c, false)
		}
	}
	for _, kind := range o.paused {
		if c, ok := s.condition(kind); ok && c.isTrue() {
			return suspended("Paused", c.words())
		}
	}
	return s.byGood(o)
}

func (s subject) byGood(o outlook) Result {
	var waits, well *Result
	wait := func(r Result) {
		if waits == nil {
			waits = &r
		}
	}
	for _, kind := range o.good {
		c, ok := s.condition(kind)
		switch {
		case !ok && o.anyGood:
		case !ok:
			wait(progressing("ConditionAbsent", "its controller has not reported "+kind+" yet"))
		case s.stale(c):
			wait(s.unobserved())
		case c.isTrue():
			r := healthy(c.Reason, c.words())
			well = &r
		case c.isFalse():
			r := o.failure(c, o.patient)
			if r.Status == Degraded {
				return r
			}
			wait(r)
		default:
			wait(progressing(c.Reason, c.words()))
		}
	}
	switch {
	case waits != nil:
		return *waits
	case well != nil:
		return *well
	}
	return progressing("ConditionAbsent", "its controller has not reported its state yet")
}

// failure judges a condition that says that something is wrong, which a patient one waits out.
func (o outlook) failure(c condition, patient bool) Result {
	if patient || slices.Contains(o.passing, c.Reason) {
		return progressing(c.Reason, c.words())
	}
	return degraded(c.Reason, c.words())
}

func byOutlook(o outlook) rule { return func(s subject) Result { return s.byOutlook(o) } }

// ready is the outlook of the many kinds that say everything in one condition.
func ready() rule { return byOutlook(outlook{good: []string{"Ready"}}) }
