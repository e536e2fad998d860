// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/sandbox/internal/sim/kubelet"
	"github.com/wavetrain/wavetrain/sandbox/internal/sim/rules"
)

// slowDeletion is the finalizer that keeps a Pod with deletionTakes: the API server would otherwise forget
// one that has ended, or was never bound, at once.
const slowDeletion = "wavetrain.dev/simulated-deletion"

// pods are the Pods the kubelets know.
type pods struct {
	mu          sync.Mutex
	byUID       map[types.UID]*podState
	occurrences map[string]int
	ips         map[string]types.UID
	nextIP      int
	// counting is held while a Pod is counted among those of its owners, which the kubelet's and the
	// scheduler's worker may both find to be due.
	counting sync.Mutex
}

// podState is one of them. But for the subject, only the worker that has the Pod's item touches it.
type podState struct {
	seen     time.Time
	subject  *rules.Pod
	record   *kubelet.Record
	ip       string
	deletion time.Time
}

func newPods() *pods {
	return &pods{byUID: map[types.UID]*podState{}, occurrences: map[string]int{}, ips: map[string]types.UID{}}
}

func podItem(pod *corev1.Pod) item {
	return item{role: rolePod, namespace: pod.Namespace, name: pod.Name}
}

// podChanged hands a Pod to its kubelet and, where that may matter, has the scheduler look again.
func (e *engine) podChanged(pod *corev1.Pod, gone bool) {
	if gone {
		e.pods.forget(pod.UID)
		e.scaleUp.forget(pod.UID)
		e.blocked.remove(podItem(pod))
		e.agenda.drop(podItem(pod))
	} else {
		e.pods.get(pod, e.clock.Now())
		e.queue.Add(podItem(pod))
	}
	if gone || pending(pod) || ended(pod) {
		e.scheduleSoon()
	}
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func (p *pods) forget(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.byUID[uid]; known != nil {
		delete(p.ips, known.ip)
		delete(p.byUID, uid)
	}
}

// get returns what is known of a Pod; one not seen before is counted.
func (p *pods) get(pod *corev1.Pod, now time.Time) *podState {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.byUID[pod.UID]; known != nil {
		return known
	}
	name := pod.Namespace + "/" + pod.Name
	p.occurrences[name]++
	known := &podState{seen: now, ip: pod.Status.PodIP, subject: &rules.Pod{Object: rules.Object{
		Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, Generation: pod.Generation,
		Occurrence: p.occurrences[name], Images: imagesOf(&pod.Spec),
	}}}
	p.byUID[pod.UID] = known
	if known.ip != "" {
		p.ips[known.ip] = pod.UID
	}
	return known
}

// address gives a Pod its address.
func (p *pods) address(uid types.UID, state *podState) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for state.ip == "" {
		p.nextIP = p.nextIP%65000 + 1
		if ip := fmt.Sprintf("10.244.%d.%d", p.nextIP>>8, p.nextIP&255); p.ips[ip] == "" {
			state.ip, p.ips[ip] = ip, uid
		}
	}
	return state.ip
}

func imagesOf(spec *corev1.PodSpec) []string {
	var out []string
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			if !slices.Contains(out, list[i].Image) {
				out = append(out, list[i].Image)
			}
		}
	}
	return out
}

// subjectOf completes what rules see of a Pod with its owners.
func (e *engine) subjectOf(pod *corev1.Pod, state *podState) (*rules.Pod, error) {
	e.pods.counting.Lock()
	defer e.pods.counting.Unlock()
	if state.subject.Owners != nil {
		return state.subject, nil
	}
	above, ok := e.ownersOf(pod, state.subject.Images)
	if !ok && pod.DeletionTimestamp == nil && e.clock.Since(state.seen) < patience {
		return nil, errLater
	}
	e.owners.countPod(above)
	state.subject.Owners = append([]rules.Owner{}, above...)
	return state.subject, nil
}

// syncPod does what the kubelet of the Pod's node does, once.
func (e *engine) syncPod(ctx context.Context, it item) error {
	pod, err := e.cache.pods.Pods(it.namespace).Get(it.name)
	if err != nil {
		return ignoreNotFound(err)
	}
	now := e.clock.Now()
	state := e.pods.get(pod, now)
	subject, err := e.subjectOf(pod, state)
	if err != nil {
		return err
	}
	effects := e.rules.forPod(subject)
	if err := e.holdDeletion(ctx, pod, state, effects); err != nil || pod.Spec.NodeName == "" {
		return err
	}
	if state.record == nil {
		state.record = kubelet.NewRecord(pod, now)
	}
	e.blocked.add(it, crossesNamespaces(effects))
	gates := kubelet.GatesOf(pod, effects, e)
	if !gates.Blocked() {
		e.blocked.remove(it)
	}
	result := state.record.Step(kubelet.Input{
		Pod: pod, Effects: effects, Gates: gates, Now: now, Real: e.clock.real, PodIP: e.pods.address(pod.UID, state), HostIP: e.hostIP(pod.Spec.NodeName),
	})
	for _, event := range result.Events {
		e.events.Event(pod, event.Type, event.Reason, event.Message)
	}
	if !result.Wake.IsZero() {
		e.agenda.put(it, result.Wake, result.Restart)
	}
	if !equality.Semantic.DeepEqual(pod.Status, result.Status) {
		next := pod.DeepCopy()
		next.Status = result.Status
		if _, err := e.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{}); err != nil {
			return ignoreNotFound(err)
		}
	}
	if result.Remove {
		return e.removePod(ctx, pod)
	}
	return nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func crossesNamespaces(effects *rules.Rule) bool {
	refs := effects.NeedsCompleted
	if effects.Needs != nil {
		refs = slices.Concat(refs, effects.Needs.Refs)
	}
	return slices.ContainsFunc(refs, func(r rules.Ref) bool { return r.Namespace != "" })
}

// removePod is the kubelet's last word about a Pod whose containers have stopped.
func (e *engine) removePod(ctx context.Context, pod *corev1.Pod) error {
	if grace := pod.DeletionGracePeriodSeconds; grace != nil && *grace == 0 {
		return nil
	}
	err := e.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID},
	})
	if apierrors.IsConflict(err) {
		return nil
	}
	return ignoreNotFound(err)
}

// holdDeletion keeps a Pod whose deletion takes time by a finalizer, and lets it go in the end.
func (e *engine) holdDeletion(ctx context.Context, pod *corev1.Pod, state *podState, effects *rules.Rule) error {
	held := slices.Contains(pod.Finalizers, slowDeletion)
	if pod.DeletionTimestamp == nil {
		if held || effects.DeletionTakes == nil {
			return nil
		}
		return e.patchFinalizers(ctx, pod, append(slices.Clone(pod.Finalizers), slowDeletion))
	}
	if !held {
		return nil
	}
	if state.deletion.IsZero() {
		state.deletion = e.clock.Now()
	}
	due := state.deletion
	if effects.DeletionTakes != nil {
		due = due.Add(*effects.DeletionTakes)
	}
	if e.clock.Now().Before(due) {
		e.wakeAt(podItem(pod), due)
		return nil
	}
	return e.patchFinalizers(ctx, pod, slices.DeleteFunc(slices.Clone(pod.Finalizers), func(f string) bool { return f == slowDeletion }))
}

func (e *engine) patchFinalizers(ctx context.Context, pod *corev1.Pod, finalizers []string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": pod.ResourceVersion, "finalizers": finalizers,
	}})
	if err != nil {
		return fmt.Errorf("write a patch of finalizers: %w", err)
	}
	_, err = e.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return ignoreNotFound(err)
}

// enqueuePods has every Pod looked at again, after a change of the rules.
func (e *engine) enqueuePods() {
	all, _ := e.cache.pods.List(labels.Everything())
	for _, pod := range all {
		e.queue.Add(podItem(pod))
	}
	e.scheduleSoon()
}
