// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// pod is a Pod as the machine reads it.
type pod struct{ corev1.Pod }

func readPod(u *unstructured.Unstructured) pod {
	var p pod
	// A Pod from an API server converts; of anything else nothing is said.
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &p.Pod)
	return p
}

// progress is a text that changes when the Pod gets on. Restarts do not count.
func (p pod) progress() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", p.Name, p.Status.Phase)
	for _, c := range p.Status.InitContainerStatuses {
		done := c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
		fmt.Fprintf(&b, " %s=%t", c.Name, done || c.Ready)
	}
	for _, c := range p.Status.ContainerStatuses {
		fmt.Fprintf(&b, " %s=%t", c.Name, c.Ready)
	}
	return b.String() + "\n"
}

// works reports whether the Pod is doing its work.
func (p pod) works() bool {
	return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil && !p.stuck()
}

// stuck reports whether one of the Pod's containers is held up by what rarely
// mends itself.
func (p pod) stuck() bool {
	if p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return false
	}
	return slices.ContainsFunc(p.Status.InitContainerStatuses, stuck) || slices.ContainsFunc(p.Status.ContainerStatuses, stuck)
}

// stuck reports whether a container cannot start or keeps ending with an error:
// a crash loop runs for moments in between and counts then, too.
func stuck(c corev1.ContainerStatus) bool {
	if w := c.State.Waiting; w != nil {
		return w.Reason != "" && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing"
	}
	last := c.LastTerminationState.Terminated
	return c.State.Running != nil && !c.Ready && last != nil && last.ExitCode != 0
}

// sentence joins a reason and its message.
func sentence(reason, message string) string {
	switch {
	case message == "" || message == reason:
		return reason
	case reason == "":
		return message
	}
	return reason + ": " + message
}
