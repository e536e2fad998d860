// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
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
	text, _ := p.trouble()
	return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil && text == ""
}

// podTrouble describes what keeps Pods from getting on: of several the one that
// is least likely to mend itself, then the first by name.
func podTrouble(pods []*unstructured.Unstructured) (text string, stuck bool) {
	best := ""
	for _, u := range pods {
		p := readPod(u)
		if p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		t, s := p.trouble()
		if t == "" {
			continue
		}
		if text == "" || s && !stuck || s == stuck && p.Name < best {
			text, stuck, best = "Pod "+p.Name+": "+t, s, p.Name
		}
	}
	return text, stuck
}

// trouble describes what keeps the Pod from getting on, in the cluster's words.
func (p pod) trouble() (text string, stuck bool) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return sentence(c.Reason, c.Message), false
		}
	}
	all := append(append([]corev1.ContainerStatus{}, p.Status.InitContainerStatuses...), p.Status.ContainerStatuses...)
	for _, c := range all {
		if text, stuck := containerTrouble(c); text != "" {
			return "container " + c.Name + ": " + text, stuck
		}
	}
	if p.Status.Phase != corev1.PodRunning || p.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		return "", false
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Running != nil && !c.Ready {
			return "container " + c.Name + " is running but not ready", false
		}
	}
	return "", false
}

// containerTrouble describes a container that cannot start or keeps ending.
func containerTrouble(c corev1.ContainerStatus) (text string, stuck bool) {
	last := ""
	if t := c.LastTerminationState.Terminated; t != nil && t.ExitCode != 0 {
		last = fmt.Sprintf("last exit code %d", t.ExitCode)
	}
	w := c.State.Waiting
	switch {
	case w == nil && c.State.Running != nil && !c.Ready && c.RestartCount > 0 && last != "":
		return "restarted, " + last, true
	case w == nil, w.Reason == "ContainerCreating", w.Reason == "PodInitializing", w.Reason == "":
		return "", false
	case w.Reason == "CrashLoopBackOff":
		return sentence(w.Reason, last), true
	}
	text = sentence(w.Reason, w.Message)
	if strings.Contains(w.Reason, "Image") && c.Image != "" && !strings.Contains(text, c.Image) {
		text += " (image " + c.Image + ")"
	}
	return text, true
}

func sentence(reason, message string) string {
	switch {
	case message == "" || message == reason:
		return reason
	case reason == "":
		return message
	}
	return reason + ": " + message
}
