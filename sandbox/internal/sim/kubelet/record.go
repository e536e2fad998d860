// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubelet is what a kubelet does to one Pod, as a function of time: given the Pod, what the rules
// say and what the cluster has, it returns the Pod's next status and when to look again.
//
// It does no I/O and reads no clock, so every state can be tested with a table.
package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Record is what the kubelet remembers of one Pod between steps. The Pod's status has whole seconds and
// would not do for rules in milliseconds.
type Record struct {
	// started is when the kubelet took the Pod on.
	started    time.Time
	inits      []run
	containers []run
	// mounted is set once the volumes are there; what becomes of their sources later is of no interest.
	mounted bool
	// held is whether the outcome's clock stood still at the last step; clock is when it began to run,
	// and once it runs it is not stopped again.
	held, clocked bool
	clock         time.Time
	// deadline is set when the Pod ran out of time.
	deadline bool
	// deletion is when deletion was first seen; removed is set when the final delete has been asked for.
	deletion time.Time
	removed  bool
	// said holds the events that were reported, so that each is reported once per change.
	said map[string]string
}

// phase is that of a container.
type phase int

const (
	waiting phase = iota
	running
	terminated
)

// run is one container.
type run struct {
	phase             phase
	started, finished time.Time
	exitCode          int32
	reason, message   string
	ready             bool
	restarts          int32
	last              *corev1.ContainerStateTerminated
	// notBefore is the end of a crash's back-off, whose length is backoff.
	notBefore time.Time
	backoff   time.Duration
}

// NewRecord begins a record at now. A Pod that already ran, because the simulator was started again on
// the same data, goes on from what its status says.
func NewRecord(pod *corev1.Pod, now time.Time) *Record {
	r := &Record{
		started:    now,
		inits:      make([]run, len(pod.Spec.InitContainers)),
		containers: make([]run, len(pod.Spec.Containers)),
		said:       map[string]string{},
	}
	if pod.Status.StartTime != nil {
		r.started = pod.Status.StartTime.Time
	}
	r.deadline = pod.Status.Reason == reasonDeadline
	for i := range r.inits {
		r.inits[i] = runOf(pod.Status.InitContainerStatuses, pod.Spec.InitContainers[i].Name)
	}
	for i := range r.containers {
		r.containers[i] = runOf(pod.Status.ContainerStatuses, pod.Spec.Containers[i].Name)
	}
	for _, list := range [][]run{r.inits, r.containers} {
		for i := range list {
			r.mounted = r.mounted || list[i].phase != waiting
			r.clocked = r.clocked || list[i].ready
		}
	}
	return r
}

func runOf(statuses []corev1.ContainerStatus, name string) run {
	for i := range statuses {
		s := &statuses[i]
		if s.Name != name {
			continue
		}
		out := run{restarts: s.RestartCount, ready: s.Ready, last: s.LastTerminationState.Terminated}
		switch {
		case s.State.Running != nil:
			out.phase, out.started = running, s.State.Running.StartedAt.Time
		case s.State.Terminated != nil:
			t := s.State.Terminated
			out.phase, out.started, out.finished = terminated, t.StartedAt.Time, t.FinishedAt.Time
			out.exitCode, out.reason, out.message = t.ExitCode, t.Reason, t.Message
		}
		return out
	}
	return run{}
}

// start begins the container's next run.
func (r *run) start(now time.Time) {
	r.phase, r.started, r.finished = running, now, time.Time{}
	r.reason, r.message, r.ready, r.exitCode = "", "", false, 0
}

// end finishes the container's run.
func (r *run) end(now time.Time, code int32) {
	r.phase, r.finished, r.exitCode, r.ready = terminated, now, code, false
	r.reason, r.message = "Completed", ""
	if code != 0 {
		r.reason = "Error"
	}
}

// sidecar reports whether an init container keeps running beside the others.
func sidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}
