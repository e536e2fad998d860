// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/report/path"
)

// rollouts is what the engine tells of its attempts.
type rollouts struct {
	mu       sync.Mutex
	attempts []*rollout
	// tell, if not nil, is told of everything.
	tell event.Sink
	// at turns the time of an event into that of the rehearsal.
	at func(time.Time) time.Time
}

// rollout is one attempt.
type rollout struct {
	app, operation, revision string
	attempt                  int
	began, ended             time.Time
	message                  string
	groups                   []*rolloutGroup
}

type rolloutGroup struct {
	number int
	phase  manifest.Phase
	wave   int
	steps  []*rolloutStep
}

type rolloutStep struct {
	key         manifest.Key
	start, done time.Time
	outcome     string
}

func newRollouts(tell event.Sink) *rollouts {
	return &rollouts{tell: tell, at: func(t time.Time) time.Time { return t }}
}

// note takes an event of the engine.
func (r *rollouts) note(e event.Event) {
	e.Time = r.at(e.Time)
	if r.tell != nil {
		r.tell(e)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	namespace, name, _ := strings.Cut(e.App, "/")
	a := r.find(appLabel(namespace, name), e)
	switch e.Type {
	case event.OperationFinished:
		a.ended, a.message = e.Time, e.Message
	case event.Waiting:
		a.message = e.Message
	case event.StepApplied:
		a.step(e).start = e.Time
	case event.StepSucceeded, event.StepPruned, event.StepFailed:
		s := a.step(e)
		s.done = e.Time
		switch e.Type {
		case event.StepPruned:
			s.outcome = "deleted"
		case event.StepFailed:
			s.outcome = "failed"
		}
	case event.OperationStarted, event.GroupStarted, event.GroupPassed:
		if e.Group > 0 {
			a.group(e)
		}
	}
}

// find is the attempt that an event is about. One that a controller resumes after
// another is the same.
func (r *rollouts) find(app string, e event.Event) *rollout {
	i := slices.IndexFunc(r.attempts, func(a *rollout) bool { return a.app == app && a.operation == e.Operation && a.attempt == e.Attempt })
	if i < 0 {
		r.attempts = append(r.attempts, &rollout{app: app, operation: e.Operation, attempt: e.Attempt, revision: e.Revision, began: e.Time})
		i = len(r.attempts) - 1
	}
	return r.attempts[i]
}

func (a *rollout) group(e event.Event) *rolloutGroup {
	i := slices.IndexFunc(a.groups, func(g *rolloutGroup) bool { return g.number == e.Group })
	if i < 0 {
		a.groups = append(a.groups, &rolloutGroup{number: e.Group, phase: e.Phase, wave: e.Wave})
		i = len(a.groups) - 1
	}
	return a.groups[i]
}

func (a *rollout) step(e event.Event) *rolloutStep {
	g := a.group(e)
	i := slices.IndexFunc(g.steps, func(s *rolloutStep) bool { return s.key == e.Object })
	if i < 0 {
		g.steps = append(g.steps, &rolloutStep{key: e.Object, start: e.Time})
		i = len(g.steps) - 1
	}
	return g.steps[i]
}

// seen is what a rehearsal knows besides what the engine tells.
type seenBeside struct {
	events []Event
	// unready tells whether an object is known not to be as it should be at the end.
	unready func(namespace, object string) bool
	// named is the revision that a commit stands for.
	named func(commit string) string
	// end is when the rehearsal ended.
	end time.Time
}

// report is what the attempts come to. The last wave of an operation is not waited
// for; when its objects got ready is in the events.
func (r *rollouts) report(beside seenBeside) []Rollout {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Rollout, 0, len(r.attempts))
	for i, a := range r.attempts {
		until, last := beside.end, true
		for _, later := range r.attempts[i+1:] {
			if later.app == a.app {
				until, last = later.began, false
				break
			}
		}
		list = append(list, a.report(beside, until, last))
	}
	return list
}

func (a *rollout) report(beside seenBeside, until time.Time, last bool) Rollout {
	out := Rollout{App: a.app, Attempt: a.attempt, StartedAt: a.began, Message: a.message, Steps: []Span{}}
	first, _, _ := strings.Cut(a.revision, ",")
	out.Rev = beside.named(first)
	groups := make([]path.Group, 0, len(a.groups))
	slices.SortFunc(a.groups, func(x, y *rolloutGroup) int { return x.number - y.number })
	for i, g := range a.groups {
		into := path.Group{Phase: string(g.phase), Wave: g.wave}
		for _, s := range g.steps {
			ready, outcome := s.ready(beside, until, i == len(a.groups)-1 || a.ended.IsZero(), last)
			span := Span{
				Phase: into.Phase, Wave: g.wave, Object: s.key.Short(), Outcome: outcome,
				Start: metav1.Duration{Duration: s.start.Sub(a.began)}, Took: metav1.Duration{Duration: max(0, ready.Sub(s.start))},
			}
			out.Steps = append(out.Steps, span)
			into.Steps = append(into.Steps, path.Step{
				Object: span.Object, Start: span.Start.Duration, Ready: span.Start.Duration + span.Took.Duration, Open: outcome == "open" || outcome == "failed",
			})
		}
		groups = append(groups, into)
	}
	out.Timeline = path.Of(groups)
	return out
}

// ready is when nothing had to wait for an object any more, and how that came. beyond
// asks what became of it after the engine was done with it, last that nothing came
// after this attempt.
func (s *rolloutStep) ready(beside seenBeside, until time.Time, beyond, last bool) (time.Time, string) {
	if s.outcome != "" {
		return s.done, s.outcome
	}
	at, outcome := s.done, ""
	for _, e := range beside.events {
		if e.Namespace != s.key.Namespace || e.Object != s.key.Short() || e.Time.Before(s.start.Add(-glance)) || e.Time.After(until) {
			continue
		}
		switch e.What {
		case "ready", "completed":
			if beyond || !e.Time.After(s.done.Add(glance)) {
				return maxTime(e.Time, s.start), e.What
			}
		case "failed":
			at, outcome = e.Time, e.What
		}
	}
	switch {
	case s.done.IsZero(), outcome == "" && beyond && last && beside.unready(s.key.Namespace, s.key.Short()):
		return until, "open"
	case outcome != "":
		return at, outcome
	}
	return s.done, ""
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
