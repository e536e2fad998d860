// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// status renders the record as the kubelet would report it. Times of conditions that did not change are
// kept, so that a step without news yields an equal status.
func (s *stepper) status() corev1.PodStatus {
	out := *s.Pod.Status.DeepCopy()
	start := s.seconds(s.started)
	out.StartTime = &start
	out.HostIP, out.HostIPs = s.HostIP, []corev1.HostIP{{IP: s.HostIP}}
	if s.mounted {
		out.PodIP, out.PodIPs = s.PodIP, []corev1.PodIP{{IP: s.PodIP}}
	}
	out.ObservedGeneration = s.Pod.Generation
	out.InitContainerStatuses = s.containerStatuses(s.Pod.Spec.InitContainers, s.inits, true)
	out.ContainerStatuses = s.containerStatuses(s.Pod.Spec.Containers, s.containers, false)
	out.Phase = s.podPhase()
	out.Reason, out.Message = "", ""
	if s.deadline {
		out.Reason, out.Message = reasonDeadline, "Pod was active on the node longer than the specified deadline"
	}
	s.conditions(&out)
	return out
}

func (s *stepper) podPhase() corev1.PodPhase {
	if s.deadline || s.initFailed() {
		return corev1.PodFailed
	}
	waits, runs, failed := 0, 0, 0
	for i := range s.containers {
		c := &s.containers[i]
		switch {
		case c.phase == waiting && c.restarts == 0:
			waits++
		case c.phase == terminated && c.exitCode != 0:
			failed++
		case c.phase != terminated:
			runs++
		}
	}
	switch {
	case waits > 0:
		// A Pod that is removed before all its containers ran has failed.
		if s.removed {
			return corev1.PodFailed
		}
		return corev1.PodPending
	case runs > 0 || !s.over():
		return corev1.PodRunning
	case failed > 0:
		return corev1.PodFailed
	default:
		return corev1.PodSucceeded
	}
}

func (s *stepper) containerStatuses(specs []corev1.Container, runs []run, init bool) []corev1.ContainerStatus {
	if len(specs) == 0 {
		return nil
	}
	out := make([]corev1.ContainerStatus, len(specs))
	for i := range specs {
		spec, c := &specs[i], &runs[i]
		started := c.phase == running
		out[i] = corev1.ContainerStatus{
			Name: spec.Name, Image: spec.Image, Ready: c.ready, RestartCount: c.restarts, Started: &started,
		}
		if c.last != nil {
			out[i].LastTerminationState.Terminated = c.last
		}
		switch c.phase {
		case running:
			out[i].State.Running = &corev1.ContainerStateRunning{StartedAt: s.seconds(c.started)}
		case terminated:
			out[i].State.Terminated = s.terminatedState(c)
		default:
			out[i].State.Waiting = s.waitingState(c, init, i)
		}
		if c.phase != waiting {
			out[i].ImageID = imageID(spec.Image)
			out[i].ContainerID = s.containerID(spec.Name, c.restarts)
			if t := out[i].State.Terminated; t != nil {
				t.ContainerID = out[i].ContainerID
			}
		}
	}
	return out
}

func (s *stepper) waitingState(c *run, init bool, index int) *corev1.ContainerStateWaiting {
	if c.reason != "" && (c.reason != "CreateContainerConfigError" || s.mounted) {
		return &corev1.ContainerStateWaiting{Reason: c.reason, Message: c.message}
	}
	// What waits for an init container is initializing; what comes first is being created.
	if len(s.inits) > 0 && (!init && !s.initialized() || init && index > 0) {
		return &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
	}
	if s.Gates.HoldInit && !init {
		return &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
	}
	return &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
}

func (s *stepper) terminatedState(r *run) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{
		ExitCode: r.exitCode, Reason: r.reason, Message: r.message,
		StartedAt: s.seconds(r.started), FinishedAt: s.seconds(r.finished),
	}
}

func (s *stepper) conditions(out *corev1.PodStatus) {
	over := out.Phase == corev1.PodSucceeded || out.Phase == corev1.PodFailed
	s.set(out, corev1.PodReadyToStartContainers, out.PodIP != "" && !over, "", "")

	var incomplete []string
	for i := range s.inits {
		if !s.inits[i].ready {
			incomplete = append(incomplete, s.Pod.Spec.InitContainers[i].Name)
		}
	}
	switch {
	case out.Phase == corev1.PodSucceeded:
		s.set(out, corev1.PodInitialized, true, "PodCompleted", "")
	case len(incomplete) > 0 && !s.begun():
		s.set(out, corev1.PodInitialized, false, "ContainersNotInitialized", containers("incomplete", incomplete))
	default:
		s.set(out, corev1.PodInitialized, s.initialized(), "", "")
	}

	var unready []string
	for i := range s.containers {
		if !s.containers[i].ready {
			unready = append(unready, s.Pod.Spec.Containers[i].Name)
		}
	}
	reason, message := "", ""
	switch {
	case out.Phase == corev1.PodSucceeded:
		reason = "PodCompleted"
	case out.Phase == corev1.PodFailed:
		reason = "PodFailed"
	case len(unready) > 0:
		reason, message = "ContainersNotReady", containers("unready", unready)
	}
	s.set(out, corev1.ContainersReady, reason == "", reason, message)
	if reason == "" {
		reason, message = s.gates(out)
	}
	s.set(out, corev1.PodReady, reason == "", reason, message)
}

// gates names the readiness gates of the Pod that are not open.
func (s *stepper) gates(out *corev1.PodStatus) (reason, message string) {
	for _, gate := range s.Pod.Spec.ReadinessGates {
		open := slices.ContainsFunc(out.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		})
		if !open {
			return "ReadinessGatesNotReady", fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType)
		}
	}
	return "", ""
}

func containers(how string, names []string) string {
	return fmt.Sprintf("containers with %s status: [%s]", how, strings.Join(names, " "))
}

func (s *stepper) set(out *corev1.PodStatus, kind corev1.PodConditionType, is bool, reason, message string) {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	next := corev1.PodCondition{
		Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: s.Pod.Generation, LastTransitionTime: s.seconds(s.Now),
	}
	i := slices.IndexFunc(out.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		out.Conditions = append(out.Conditions, next)
		return
	}
	if out.Conditions[i].Status == status {
		next.LastTransitionTime = out.Conditions[i].LastTransitionTime
	}
	out.Conditions[i] = next
}

// seconds is a time as a status shows it.
func (s *stepper) seconds(t time.Time) metav1.Time {
	if s.Real != nil {
		t = s.Real(t)
	}
	return metav1.NewTime(t.Truncate(time.Second))
}

func imageID(image string) string {
	sum := sha256.Sum256([]byte(image))
	return image + "@sha256:" + hex.EncodeToString(sum[:])
}

func (s *stepper) containerID(name string, restarts int32) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", s.Pod.UID, name, restarts))
	return "simulated://" + hex.EncodeToString(sum[:])
}
