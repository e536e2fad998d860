// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/sandbox/internal/sim/rules"
	"github.com/wavetrain/wavetrain/sandbox/internal/sim/scheduler"
)

// bindings is how many Pods are bound at once.
const bindings = 8

// schedulePause is how long the scheduler waits for more to do.
const schedulePause = 10 * time.Millisecond

// binder remembers where Pods were put that the cache still shows without a node.
type binder struct {
	mu      sync.Mutex
	assumed map[types.UID]string
}

func newBinder() *binder { return &binder{assumed: map[types.UID]string{}} }

// has reports whether a Pod was put on a node already.
func (b *binder) has(uid types.UID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.assumed[uid] != ""
}

// placement is a decision of one pass.
type placement struct {
	pod  *corev1.Pod
	node string
}

// scheduleSoon has the scheduler look at all Pods without a node. It waits a moment for more of them, since
// a pass costs the more the more Pods there are at all.
func (e *engine) scheduleSoon() { e.queue.AddAfter(item{role: roleScheduler}, schedulePause) }

// schedule looks at all Pods without a node, once. Only one worker is ever in here.
func (e *engine) schedule(ctx context.Context, _ item) error {
	waiting, err := e.cache.podIndex.ByIndex(pendingIndex, pendingIndex)
	if err != nil {
		return fmt.Errorf("list Pods without a node: %w", err)
	}
	pods := make([]*corev1.Pod, 0, len(waiting))
	for _, o := range waiting {
		if pod, ok := o.(*corev1.Pod); ok && !e.binder.has(pod.UID) {
			pods = append(pods, pod)
		}
	}
	if len(pods) == 0 {
		return nil
	}
	nodes := e.nodesInUse()
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	var placed []placement
	var errs []error
	for _, pod := range pods {
		effects, err := e.effectsOn(pod)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		node, why := scheduler.Place(pod, nodes, e, neededClaims(effects))
		switch {
		case node == "":
			errs = append(errs, e.unschedulable(ctx, pod, effects, why))
		case e.awaitClaims(pod, node):
		default:
			placed = append(placed, placement{pod, node})
			i := slices.IndexFunc(nodes, func(n *scheduler.Node) bool { return n.Node.Name == node })
			nodes[i].Add(pod)
		}
	}
	return errors.Join(append(errs, e.bind(ctx, placed))...)
}

// effectsOn returns the rules for a Pod.
func (e *engine) effectsOn(pod *corev1.Pod) (*rules.Rule, error) {
	subject, err := e.subjectOf(pod, e.pods.get(pod, e.clock.Now()))
	if err != nil {
		return nil, err
	}
	return e.rules.forPod(subject), nil
}

// neededClaims is what rules want of claims before the Pod is scheduled.
func neededClaims(effects *rules.Rule) scheduler.Needs {
	var out scheduler.Needs
	for _, ref := range effects.NeedsBound {
		out.Bound = append(out.Bound, ref.Name)
	}
	if effects.Needs != nil {
		for _, ref := range effects.Needs.Refs {
			if ref.Kind == "PersistentVolumeClaim" {
				out.Existing = append(out.Existing, ref.Name)
			}
		}
	}
	return out
}

// nodesInUse returns the nodes by name with the Pods that run, or were just put, on them.
func (e *engine) nodesInUse() []*scheduler.Node {
	all, _ := e.cache.nodes.List(labels.Everything())
	nodes := make([]*scheduler.Node, 0, len(all))
	byName := make(map[string]*scheduler.Node, len(all))
	for _, node := range all {
		n := scheduler.NewNode(node)
		nodes = append(nodes, n)
		byName[node.Name] = n
	}
	slices.SortFunc(nodes, func(a, b *scheduler.Node) int { return cmp.Compare(a.Node.Name, b.Node.Name) })
	pods, _ := e.cache.pods.List(labels.Everything())
	e.binder.mu.Lock()
	defer e.binder.mu.Unlock()
	current := make(map[types.UID]string, len(e.binder.assumed))
	for _, pod := range pods {
		name := pod.Spec.NodeName
		if assumed := e.binder.assumed[pod.UID]; name == "" && assumed != "" {
			name = assumed
			current[pod.UID] = assumed
		}
		if n := byName[name]; n != nil && !ended(pod) {
			n.Add(pod)
		}
	}
	e.binder.assumed = current
	return nodes
}

// bind writes the decisions; a Pod that is gone or bound meanwhile is none of our business any more.
func (e *engine) bind(ctx context.Context, placed []placement) error {
	var wg sync.WaitGroup
	slots := make(chan struct{}, bindings)
	errs := make([]error, len(placed))
	for i, p := range placed {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = e.bindOne(ctx, p)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (e *engine) bindOne(ctx context.Context, p placement) error {
	e.binder.mu.Lock()
	e.binder.assumed[p.pod.UID] = p.node
	e.binder.mu.Unlock()
	err := e.client.CoreV1().Pods(p.pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.pod.Namespace, Name: p.pod.Name, UID: p.pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: p.node},
	}, metav1.CreateOptions{})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		e.scaleUp.forget(p.pod.UID)
		return nil
	}
	e.binder.mu.Lock()
	delete(e.binder.assumed, p.pod.UID)
	e.binder.mu.Unlock()
	return fmt.Errorf("bind Pod %s/%s to node %s: %w", p.pod.Namespace, p.pod.Name, p.node, err)
}

// unschedulable tells so on the Pod, once per reason, and asks the autoscaler.
func (e *engine) unschedulable(ctx context.Context, pod *corev1.Pod, effects *rules.Rule, why string) error {
	if effects.AddsNodes != nil {
		if err := e.addNodes(ctx, pod, effects); err != nil {
			return err
		}
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Message == why {
			return nil
		}
	}
	condition := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: why,
		LastTransitionTime: metav1.NewTime(time.Now()),
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []any{condition}}})
	if err != nil {
		return fmt.Errorf("write a condition: %w", err)
	}
	_, err = e.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err == nil {
		e.events.Event(pod, corev1.EventTypeWarning, "FailedScheduling", why)
	}
	return ignoreNotFound(err)
}

// Claim implements scheduler.Claims.
func (e *engine) Claim(namespace, name string) (exists, bound, waits bool) {
	claim, err := e.cache.claims.PersistentVolumeClaims(namespace).Get(name)
	if err != nil {
		return false, false, false
	}
	return true, claim.Status.Phase == corev1.ClaimBound, e.bindingMode(claim) == storagev1.VolumeBindingWaitForFirstConsumer
}

// awaitClaims reports whether a Pod that has found its node must wait for claims that only now are bound.
func (e *engine) awaitClaims(pod *corev1.Pod, node string) bool {
	waits := false
	for i := range pod.Spec.Volumes {
		name := claimOf(pod, &pod.Spec.Volumes[i])
		if name == "" {
			continue
		}
		if claim, err := e.cache.claims.PersistentVolumeClaims(pod.Namespace).Get(name); err == nil && claim.Status.Phase != corev1.ClaimBound {
			waits = true
			e.claims.use(claim.UID, node, e.clock.Now())
			e.queue.Add(claimItem(claim))
		}
	}
	return waits
}

// claimOf is the name of the claim behind a volume, or nothing.
func claimOf(pod *corev1.Pod, v *corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return pod.Name + "-" + v.Name
	}
	return ""
}
