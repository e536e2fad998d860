// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"strings"
)

const (
	ignoreRestartPolicy = "argocd.argoproj.io/ignore-restart-policy"
	argoHook            = "argocd.argoproj.io/hook"
	helmHook            = "helm.sh/hook"
)

func pod(s subject) Result {
	lasting := longRunning(s)
	if lasting {
		for _, c := range containersOf(s, "containerStatuses") {
			if c.waitsInVain() {
				return degraded(c.waiting.text("reason"), c.words())
			}
		}
	}
	switch phase := s.status.text("phase"); phase {
	case "Pending":
		return pendingPod(s)
	case "Succeeded":
		return healthy("Succeeded", s.status.text("message"))
	case "Failed":
		return failedPod(s)
	case "Running":
		if !lasting {
			return progressing("Running", "runs to its end")
		}
		return runningPod(s)
	case "":
		return unknown("NoPhase", "the Pod has no phase yet")
	default:
		return unknown("UnknownPhase", fmt.Sprintf("the Pod is in phase %q", phase))
	}
}

// longRunning tells whether a Pod is meant to stay. A hook Pod is meant to end, whatever its restart policy.
func longRunning(s subject) bool {
	if p := s.spec.text("restartPolicy"); p == "Always" || p == "" {
		return true
	}
	a := s.obj.GetAnnotations()
	return a[ignoreRestartPolicy] == "true" && a[argoHook] == "" && a[helmHook] == ""
}

func pendingPod(s subject) Result {
	if c, ok := s.condition("PodScheduled"); ok && c.isFalse() {
		return progressing(c.Reason, "not scheduled: "+c.words())
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, c := range containersOf(s, list) {
			if reason := c.waiting.text("reason"); reason != "" && reason != "PodInitializing" && reason != "ContainerCreating" {
				return progressing(reason, c.words())
			}
			if list == "initContainerStatuses" && c.running != nil {
				return progressing("Initializing", c.words())
			}
		}
	}
	return progressing("Pending", "its containers are being created")
}

func failedPod(s subject) Result {
	reason := s.status.text("reason")
	if reason == "" {
		reason = "Failed"
	}
	if m := s.status.text("message"); m != "" {
		return degraded(reason, m)
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, c := range containersOf(s, list) {
			if c.terminated.count("exitCode") != 0 {
				return degraded(reason, c.words())
			}
		}
	}
	return degraded(reason, "the Pod failed")
}

func runningPod(s subject) Result {
	ready, ok := s.condition("Ready")
	if ok && ready.isTrue() {
		return healthy("Ready", "all containers are ready")
	}
	for _, c := range containersOf(s, "containerStatuses") {
		if c.last != nil {
			return degraded("ContainerRestarted", c.words())
		}
	}
	if !ok {
		return progressing("NotReady", "not ready yet")
	}
	return progressing(ready.Reason, ready.words())
}

// container is the state of one container of a Pod.
type container struct {
	role, name, image                  string
	waiting, running, terminated, last fields
	restarts                           int64
}

func containersOf(s subject, list string) []container {
	role := "container"
	if list == "initContainerStatuses" {
		role = "init container"
	}
	entries := s.status.list(list)
	all := make([]container, 0, len(entries))
	for _, e := range entries {
		m, ok := e.(map[string]any)
		if !ok {
			continue
		}
		f := fields(m)
		all = append(all, container{
			role: role, name: f.text("name"), image: f.text("image"), restarts: f.count("restartCount"),
			waiting: f.sub("state", "waiting"), running: f.sub("state", "running"),
			terminated: f.sub("state", "terminated"), last: f.sub("lastState", "terminated"),
		})
	}
	return all
}

// waitsInVain tells whether the kubelet reports an error or backs off after one.
func (c container) waitsInVain() bool {
	reason := c.waiting.text("reason")
	return strings.HasPrefix(reason, "Err") || strings.HasSuffix(reason, "Error") || strings.HasSuffix(reason, "BackOff")
}

// words says what the container does, with the kubelet's reason and message and, where it matters, the image.
func (c container) words() string {
	switch {
	case c.waiting != nil:
		return c.waitingWords()
	case c.terminated != nil:
		return fmt.Sprintf("%s %q %s", c.role, c.name, ended(c.terminated))
	case c.last != nil:
		return fmt.Sprintf("%s %q restarted %d times, last %s", c.role, c.name, c.restarts, ended(c.last))
	}
	return fmt.Sprintf("%s %q is running", c.role, c.name)
}

func (c container) waitingWords() string {
	reason, message := c.waiting.text("reason"), c.waiting.text("message")
	text := fmt.Sprintf("%s %q waits: %s", c.role, c.name, reason)
	if strings.Contains(reason, "Image") && !strings.Contains(message, c.image) {
		text += " (" + c.image + ")"
	}
	if message != "" {
		text += ": " + message
	}
	if c.last != nil {
		text += "; last " + ended(c.last)
	}
	return text
}

// ended says how a container ended.
func ended(t fields) string {
	text := fmt.Sprintf("ended with exit code %d", t.count("exitCode"))
	if reason := t.text("reason"); reason != "" && reason != "Error" {
		text += " (" + reason + ")"
	}
	if message := strings.TrimSpace(t.text("message")); message != "" {
		text += ": " + message
	}
	return text
}
