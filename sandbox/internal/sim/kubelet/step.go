// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/wavetrain/wavetrain/sandbox/internal/sim/rules"
)

const (
	reasonDeadline = "DeadlineExceeded"

	defaultReady   = time.Second
	defaultSucceed = time.Second
	defaultInit    = 100 * time.Millisecond

	// The first crash is restarted at once; then the delay doubles, and starts anew after a long run.
	firstBackoff = 10 * time.Second
	maxBackoff   = 5 * time.Minute
	forgetAfter  = 10 * time.Minute

	// A container that is told to stop ends as if by SIGTERM.
	exitTerminated = 143
	exitKilled     = 137
)

// Input is what one step looks at.
type Input struct {
	Pod *corev1.Pod
	// Effects are the rules for this Pod, merged.
	Effects *rules.Rule
	Gates   Gates
	Now     time.Time
	// Real is the real time at a time such as Now, which is what a status shows; nil if they are the same.
	Real func(time.Time) time.Time
	// PodIP and HostIP are where the Pod runs.
	PodIP, HostIP string
}

// Event is an Event that the kubelet reports on the Pod.
type Event struct{ Type, Reason, Message string }

// Result is what comes of a step.
type Result struct {
	Status corev1.PodStatus
	// Wake is when something happens next; zero if only a change of the cluster can bring it.
	Wake time.Time
	// Restart says that what happens then is only the restart of a container that has crashed.
	Restart bool
	Events  []Event
	// Remove says that the Pod's containers have stopped and the API server may forget it.
	Remove bool
}

// stepper is one step in progress.
type stepper struct {
	*Record
	Input
	outcome rules.Outcome
	wake    time.Time
	restart bool
	events  []Event
}

// Step moves the Pod on as far as it can come by in.Now.
func (r *Record) Step(in Input) Result {
	s := &stepper{Record: r, Input: in}
	if in.Effects.Outcome != nil {
		s.outcome = *in.Effects.Outcome
	}
	if in.Pod.DeletionTimestamp != nil && r.deletion.IsZero() {
		r.deletion = in.Now
	}
	if !s.over() {
		s.enforceDeadline()
	}
	s.mounted = s.mounted || s.Gates.Mount == ""
	if !s.over() && s.mounted {
		s.runInits()
		if s.initialized() {
			s.runContainers()
		}
	}
	remove := s.stop()
	if !s.mounted {
		s.say(corev1.EventTypeWarning, "FailedMount", s.Gates.Mount)
	}
	return Result{Status: s.status(), Wake: s.wake, Restart: s.restart, Events: s.events, Remove: remove}
}

// stop ends what runs once deletion has taken its time, and reports whether the Pod may go.
func (s *stepper) stop() bool {
	if s.deletion.IsZero() {
		return false
	}
	due := s.deletion
	if s.Effects.DeletionTakes != nil {
		due = due.Add(*s.Effects.DeletionTakes)
	}
	if s.Now.Before(due) {
		s.wakeAt(due)
		return false
	}
	for _, list := range [][]run{s.inits, s.containers} {
		for i := range list {
			switch c := &list[i]; {
			case c.phase == running:
				c.end(s.Now, exitTerminated)
			case c.phase == waiting && c.last != nil:
				c.end(c.last.FinishedAt.Time, c.last.ExitCode)
			}
		}
	}
	s.removed = true
	return true
}

// over reports whether no container runs or will run again.
func (s *stepper) over() bool {
	if s.deadline || s.removed {
		return true
	}
	if s.initFailed() {
		return true
	}
	for i := range s.containers {
		c := &s.containers[i]
		if c.phase != terminated || s.restarts(c) {
			return false
		}
	}
	return len(s.containers) > 0
}

// restarts reports whether a container that ended is started again.
func (s *stepper) restarts(c *run) bool {
	if !s.deletion.IsZero() {
		return false
	}
	switch s.Pod.Spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return c.exitCode != 0
	default:
		return true
	}
}

func (s *stepper) enforceDeadline() {
	limit := s.Pod.Spec.ActiveDeadlineSeconds
	if limit == nil {
		return
	}
	due := s.started.Add(time.Duration(*limit) * time.Second)
	if s.Now.Before(due) {
		s.wakeAt(due)
		return
	}
	s.deadline = true
	for _, list := range [][]run{s.inits, s.containers} {
		for i := range list {
			if list[i].phase == running {
				list[i].end(s.Now, exitKilled)
			}
		}
	}
	s.say(corev1.EventTypeNormal, reasonDeadline, "Pod was active on the node longer than the specified deadline")
}

func (s *stepper) wakeAt(t time.Time) {
	if s.wake.IsZero() || t.Before(s.wake) {
		s.wake, s.restart = t, false
	}
}

// restartAt is wakeAt for the end of a crash's back-off.
func (s *stepper) restartAt(t time.Time) {
	if s.wake.IsZero() || t.Before(s.wake) {
		s.wake, s.restart = t, true
	}
}

// say reports an event, once until its text changes.
func (s *stepper) say(kind, reason, message string) {
	if s.said[reason] == message {
		return
	}
	s.said[reason] = message
	s.events = append(s.events, Event{Type: kind, Reason: reason, Message: message})
}
