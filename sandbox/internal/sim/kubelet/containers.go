// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/wavetrain/wavetrain/sandbox/internal/sim/rules"
)

// runInits runs the init containers in order; sidecars only have to be started.
func (s *stepper) runInits() {
	takes := defaultInit
	if s.Effects.InitTakes != nil {
		takes = *s.Effects.InitTakes
	}
	holder := s.holder()
	for i := range s.inits {
		c, spec := &s.inits[i], &s.Pod.Spec.InitContainers[i]
		if c.phase == waiting && !s.create(c, spec) {
			return
		}
		if sidecar(spec) {
			c.ready = c.phase == running
			continue
		}
		if c.phase == running {
			if i == holder && s.Gates.HoldInit {
				return
			}
			due := c.started.Add(takes)
			if s.Now.Before(due) {
				s.wakeAt(due)
				return
			}
			c.end(s.Now, 0)
			c.ready = true
		}
	}
}

// holder is the init container that waits for what needsCompleted names: the first that ends.
func (s *stepper) holder() int {
	for i := range s.Pod.Spec.InitContainers {
		if !sidecar(&s.Pod.Spec.InitContainers[i]) {
			return i
		}
	}
	return -1
}

// create starts a container unless its configuration is incomplete.
func (s *stepper) create(c *run, spec *corev1.Container) bool {
	if !s.deletion.IsZero() {
		return false
	}
	if problem := s.Gates.Config[spec.Name]; problem != "" {
		c.reason, c.message = "CreateContainerConfigError", problem
		s.say(corev1.EventTypeWarning, "Failed", "Error: "+problem)
		return false
	}
	c.start(s.Now)
	return true
}

func (s *stepper) initialized() bool {
	for i := range s.inits {
		done := s.inits[i].phase == terminated && s.inits[i].exitCode == 0
		if !done && !(sidecar(&s.Pod.Spec.InitContainers[i]) && s.inits[i].phase == running) {
			return false
		}
	}
	// Without an init container that could wait, the Pod itself does; once begun it is past that.
	return s.begun() || s.holder() >= 0 || !s.Gates.HoldInit
}

func (s *stepper) initFailed() bool {
	for i := range s.inits {
		if s.inits[i].phase == terminated && s.inits[i].exitCode != 0 {
			return true
		}
	}
	return false
}

// begun reports whether any main container has ever run.
func (s *stepper) begun() bool {
	for i := range s.containers {
		if s.containers[i].phase != waiting || s.containers[i].restarts > 0 {
			return true
		}
	}
	return false
}

func (s *stepper) runContainers() {
	s.runClock()
	for i := range s.containers {
		c, spec := &s.containers[i], &s.Pod.Spec.Containers[i]
		if c.phase == terminated && s.restarts(c) {
			s.backOff(c, spec)
		}
		if c.phase == waiting && !s.startMain(c, spec) {
			continue
		}
		if c.phase == running {
			s.live(c, spec)
		}
	}
	if s.over() {
		for i := range s.inits {
			if s.inits[i].phase == running {
				s.inits[i].end(s.Now, 0)
			}
		}
	}
}

// runClock notes when the outcome's clock may begin to run.
func (s *stepper) runClock() {
	held := s.Gates.HoldOutcome && !s.clocked
	if s.held && !held {
		s.clock = s.Now
	}
	s.held, s.clocked = held, s.clocked || !held
}

func (s *stepper) startMain(c *run, spec *corev1.Container) bool {
	if w := s.outcome.Waiting; w != nil {
		c.reason, c.message = w.Reason, w.Message
		s.say(corev1.EventTypeWarning, "Failed", waitingMessage(w))
		return false
	}
	if s.Now.Before(c.notBefore) {
		s.restartAt(c.notBefore)
		return false
	}
	return s.create(c, spec)
}

func waitingMessage(w *rules.Waiting) string {
	if w.Message == "" {
		return "Error: " + w.Reason
	}
	return "Error: " + w.Reason + ": " + w.Message
}

// backOff puts a container that ended into line for its next start.
func (s *stepper) backOff(c *run, spec *corev1.Container) {
	if c.finished.Sub(c.started) >= forgetAfter {
		c.backoff = 0
	}
	c.last = s.terminatedState(c)
	c.phase, c.reason, c.message = waiting, "ContainerCreating", ""
	c.restarts++
	switch {
	case c.restarts == 1:
		c.notBefore = c.finished
		return
	case c.backoff == 0:
		c.backoff = firstBackoff
	default:
		c.backoff = min(2*c.backoff, maxBackoff)
	}
	c.notBefore = c.finished.Add(c.backoff)
	pod := fmt.Sprintf("%s_%s(%s)", s.Pod.Name, s.Pod.Namespace, s.Pod.UID)
	c.reason = "CrashLoopBackOff"
	c.message = fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", c.backoff, spec.Name, pod)
	s.say(corev1.EventTypeWarning, "BackOff", fmt.Sprintf("Back-off restarting failed container %s in pod %s", spec.Name, pod))
}

// live decides what becomes of a running container: it gets ready, or it ends.
func (s *stepper) live(c *run, spec *corev1.Container) {
	if s.held {
		c.ready = false
		return
	}
	from := c.started
	if s.clock.After(from) {
		from = s.clock
	}
	s.getReady(c, from)
	after, code, ends := s.ending()
	if !ends {
		return
	}
	due := from.Add(after)
	if s.Now.Before(due) {
		s.wakeAt(due)
		return
	}
	c.end(due, code)
	if s.restarts(c) {
		s.backOff(c, spec)
		if s.Now.Before(c.notBefore) {
			s.restartAt(c.notBefore)
		} else if s.create(c, spec) {
			s.live(c, spec) // only the first restart is at once, so this does not go deeper
		}
	}
}

// getReady makes the container ready in time. Once ready it stays so, unless a rule says never.
func (s *stepper) getReady(c *run, from time.Time) {
	if s.outcome.NeverReady {
		c.ready = false
		s.say(corev1.EventTypeWarning, "Unhealthy", "Readiness probe failed: the simulation says never ready")
		return
	}
	if c.ready {
		return
	}
	after := time.Duration(0)
	if s.Pod.Spec.RestartPolicy == corev1.RestartPolicyAlways {
		after = defaultReady
	}
	if s.outcome.ReadyAfter != nil {
		after = *s.outcome.ReadyAfter
	}
	if due := from.Add(after); s.Now.Before(due) {
		s.wakeAt(due)
		return
	}
	c.ready = true
}

// ending is how and when a run of the main containers ends, if at all.
func (s *stepper) ending() (after time.Duration, code int32, ends bool) {
	o := &s.outcome
	switch {
	case o.NeverFinish:
		return 0, 0, false
	case o.FailAfter != nil:
		code = 1
		if o.ExitCode != nil {
			code = *o.ExitCode
		}
		return *o.FailAfter, code, true
	case o.SucceedAfter != nil:
		return *o.SucceedAfter, 0, true
	}
	return defaultSucceed, 0, s.Pod.Spec.RestartPolicy != corev1.RestartPolicyAlways
}
