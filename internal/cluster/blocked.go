// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Blocked says in one line why an object is not getting on, as far down as can be
// seen: the waiting reason of a container, what the scheduler lacks, why no Pod
// can be made, or the object's latest warning. It is empty if nothing is known to
// be wrong, or if nobody could be asked.
func (c *Cluster) Blocked(ctx context.Context, key manifest.Key) string {
	return c.Trouble(ctx, key).Text
}

// Trouble is what keeps an object from getting on.
type Trouble struct {
	// Object is the one that tells: the object itself, or one that was made for it.
	Object manifest.Key
	// Text is what it tells, in the words of the cluster; empty if nothing is known
	// to be wrong.
	Text string
	// Unstarted is true where no container could be started, or no Pod be made: what
	// the Pod mentions may be what it lacks.
	Unstarted bool
}

// Trouble looks for what keeps an object from getting on, as far down as can be
// seen.
func (c *Cluster) Trouble(ctx context.Context, key manifest.Key) Trouble {
	live, err := c.Current(ctx, key)
	if err != nil {
		return Trouble{}
	}
	pods, err := c.Pods(ctx, key)
	if err != nil {
		pods = nil
	}
	if t := c.blockedPods(ctx, pods); t.Text != "" {
		return t
	}
	if text := c.latestWarning(ctx, key, live); text != "" {
		return Trouble{key, text, len(pods) == 0}
	}
	if key.Kind == "Deployment" && len(pods) == 0 {
		sets, err := c.below(ctx, []*unstructured.Unstructured{live}, replicaSetKind())
		if err != nil {
			return Trouble{}
		}
		slices.SortStableFunc(sets, func(a, b *unstructured.Unstructured) int { return revision(b) - revision(a) })
		for _, rs := range sets {
			if text := c.latestWarning(ctx, manifest.KeyOf(rs), rs); text != "" {
				return Trouble{manifest.KeyOf(rs), text, true}
			}
		}
	}
	return Trouble{}
}

// blockedPods returns the most telling reason of some Pods. Where a Pod says only
// that it is being prepared, its events say more, and so they do where it finds no
// node.
func (c *Cluster) blockedPods(ctx context.Context, pods []*unstructured.Unstructured) Trouble {
	best, found := trouble{}, Trouble{}
	for _, u := range pods {
		var pod corev1.Pod
		if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &pod) != nil {
			continue
		}
		t := troubleOf(&pod)
		if t.weight == preparing {
			if text := c.latestWarning(ctx, manifest.KeyOf(u), u); text != "" {
				t = trouble{stuck, text}
			}
		}
		if t.weight > best.weight {
			if pod.Spec.NodeName == "" {
				t.text += c.autoscaler(ctx, u)
			}
			best, found = t, Trouble{manifest.KeyOf(u), t.text, unstarted(&pod)}
		}
	}
	return found
}

// unstarted reports whether nothing of a Pod but its init containers has run.
func unstarted(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodPending && !slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil
	}) && !slices.ContainsFunc(pod.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil && !restartable(pod, s.Name)
	})
}

// autoscaler returns the last words about a Pod without a node of whoever could
// bring one: they are no warnings.
func (c *Cluster) autoscaler(ctx context.Context, pod *unstructured.Unstructured) string {
	events, err := c.Events(ctx, manifest.KeyOf(pod), pod.GetUID())
	if err != nil {
		return ""
	}
	for _, e := range slices.Backward(events) {
		switch e.Reason {
		case "NotTriggerScaleUp", "TriggeredScaleUp", "Nominated", "FailedScaleUp":
			return "; " + warning(e)
		}
	}
	return ""
}

func (c *Cluster) latestWarning(ctx context.Context, key manifest.Key, u *unstructured.Unstructured) string {
	warnings, err := c.Warnings(ctx, key, u.GetUID())
	if err != nil || len(warnings) == 0 {
		return ""
	}
	return warnings[0]
}

// warning writes an event in one line. Of the chain of causes of a Pod that cannot
// be made only the last is kept, which is what has to be mended.
func warning(e corev1.Event) string {
	message := oneLine(e.Message)
	if e.Reason == "FailedCreate" {
		if i := strings.LastIndex(message, "error looking up service account "); i >= 0 {
			if _, rest, ok := strings.Cut(message[i:], ": "); ok {
				message = rest
			}
		}
	}
	return e.Reason + ": " + message
}

// weight ranks what is wrong with a Pod.
type weight int

const (
	fine weight = iota
	unready
	preparing
	waitsForInit
	failed
	stuck
)

type trouble struct {
	weight weight
	text   string
}

// troubleOf says what is wrong with a Pod, from its status alone.
func troubleOf(pod *corev1.Pod) trouble {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded {
		return trouble{}
	}
	for _, cond := range pod.Status.Conditions {
		if cond.Type == corev1.PodScheduled && cond.Status == corev1.ConditionFalse {
			return trouble{stuck, "FailedScheduling: " + oneLine(cond.Message)}
		}
	}
	best := trouble{}
	if pod.Status.Phase == corev1.PodPending {
		best = trouble{preparing, "Pod " + pod.Name + " is Pending"}
	}
	consider := func(t trouble) {
		if t.weight > best.weight {
			best = t
		}
	}
	for _, s := range pod.Status.InitContainerStatuses {
		consider(troubleOfContainer(pod, s, true))
	}
	for _, s := range pod.Status.ContainerStatuses {
		consider(troubleOfContainer(pod, s, false))
	}
	if pod.Status.Phase == corev1.PodFailed && best.weight < failed {
		return trouble{failed, strings.TrimSuffix("Pod "+pod.Name+" failed: "+oneLine(pod.Status.Reason+" "+pod.Status.Message), ": ")}
	}
	return best
}

func troubleOfContainer(pod *corev1.Pod, s corev1.ContainerStatus, initial bool) trouble {
	kind := "container "
	if initial {
		kind = "init container "
	}
	switch {
	case s.State.Waiting != nil:
		w := s.State.Waiting
		switch w.Reason {
		case "", "ContainerCreating":
			return trouble{preparing, "Pod " + pod.Name + " is being prepared"}
		case "PodInitializing":
			return trouble{}
		}
		text := kind + s.Name + ": " + w.Reason
		if message := oneLine(w.Message); message != "" {
			text += ": " + message
		}
		if t := s.LastTerminationState.Terminated; t != nil && w.Reason == "CrashLoopBackOff" {
			text += " (last: " + ended(t) + ")"
		}
		return trouble{stuck, text}
	case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
		return trouble{failed, kind + s.Name + ": " + ended(s.State.Terminated)}
	case s.State.Running != nil && initial && !restartable(pod, s.Name):
		return trouble{waitsForInit, kind + s.Name + " is still running since " + since(s.State.Running.StartedAt)}
	case s.State.Running != nil && !s.Ready && !initial:
		return trouble{unready, kind + s.Name + " is running but not ready"}
	default:
		return trouble{}
	}
}

// restartable reports whether an init container is a sidecar, which runs on.
func restartable(pod *corev1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == name && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	})
}

func ended(t *corev1.ContainerStateTerminated) string {
	text := t.Reason
	if text == "" {
		text = "ended"
	}
	if message := oneLine(t.Message); message != "" {
		text += ": " + message
	}
	return fmt.Sprintf("%s, exit code %d", text, t.ExitCode)
}

func since(t metav1.Time) string { return t.UTC().Format("15:04:05") }
