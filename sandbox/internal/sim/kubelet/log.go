// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Log is what a container has written: the rule's text, or a line about its start, and one about its end if
// it failed. A container that has not run has no log, which is an error in the kubelet's words.
func Log(pod *corev1.Pod, container, text string, previous bool) (string, error) {
	statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	i := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == container })
	if i < 0 {
		return "", fmt.Errorf("container %q in pod %q is not available", container, pod.Name)
	}
	s := &statuses[i]
	end := s.State.Terminated
	switch {
	case previous && s.LastTerminationState.Terminated == nil:
		return "", fmt.Errorf("previous terminated container %q in pod %q not found", container, pod.Name)
	case previous || s.State.Waiting != nil && s.LastTerminationState.Terminated != nil:
		end = s.LastTerminationState.Terminated
	case s.State.Waiting != nil:
		return "", fmt.Errorf("container %q in pod %q is waiting to start: %s", container, pod.Name, s.State.Waiting.Reason)
	}
	if text == "" {
		text = fmt.Sprintf("simulated container %s runs %s", container, s.Image)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if end != nil && end.ExitCode != 0 {
		text += fmt.Sprintf("simulated container %s exits with code %d\n", container, end.ExitCode)
	}
	return text, nil
}
