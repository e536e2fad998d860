// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"
)

// condition is one entry of status.conditions.
type condition struct {
	Type, Status, Reason, Message string
	observed                      int64
}

func (c condition) isTrue() bool  { return c.Status == "True" }
func (c condition) isFalse() bool { return c.Status == "False" }

// words returns the controller's explanation: the message, else the reason, else the bare condition.
func (c condition) words() string {
	switch {
	case c.Message != "":
		return strings.TrimSpace(c.Message)
	case c.Reason != "":
		return c.Reason
	}
	return c.Type + " is " + c.Status
}

// conditions returns the entries of status.conditions in their order.
func (s subject) conditions() []condition { return conditionsOf(s.status.list("conditions")) }

func conditionsOf(entries []any) []condition {
	all := make([]condition, 0, len(entries))
	for _, e := range entries {
		m, ok := e.(map[string]any)
		if !ok {
			continue
		}
		f := fields(m)
		all = append(all, condition{
			Type: f.text("type"), Status: f.text("status"), Reason: f.text("reason"), Message: f.text("message"),
			observed: f.count("observedGeneration"),
		})
	}
	return all
}

// condition returns the entry of one type and whether it is there.
func (s subject) condition(kind string) (condition, bool) {
	for _, c := range s.conditions() {
		if c.Type == kind {
			return c, true
		}
	}
	return condition{}, false
}

// stale tells whether a condition was written about an earlier generation of the object. Conditions that name no
// generation are never stale.
func (s subject) stale(c condition) bool {
	return c.observed > 0 && c.observed < s.obj.GetGeneration()
}

// byCondition judges by one condition that is True when all is well and False when it is not.
func (s subject) byCondition(kind string) Result {
	if s.behind() {
		return s.unobserved()
	}
	c, ok := s.condition(kind)
	switch {
	case !ok:
		return progressing("ConditionAbsent", "its controller has not reported "+kind+" yet")
	case s.stale(c):
		return s.unobserved()
	case c.isTrue():
		return healthy(c.Reason, c.words())
	case c.isFalse():
		return degraded(c.Reason, c.words())
	}
	return progressing(c.Reason, c.words())
}
