// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"maps"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/wavetrain/wavetrain/sandbox/internal/sim/rules"
	"github.com/wavetrain/wavetrain/sandbox/internal/sim/scheduler"
)

// idleShare is how much of its requests a Pod uses that no autoscaler looks after, in percent.
const idleShare = 50

// demand is the load on a workload in terms of an autoscaler: want Pods would run at the target what have
// Pods run now. Equal numbers mean that every Pod runs at the target, however the autoscaler counts them.
type demand struct {
	metrics    []autoscalingv2.MetricSpec
	want, have int64
}

// demands finds the autoscaler of each workload of a namespace.
func (e *engine) demands(namespace string, pods []*corev1.Pod) map[string]demand {
	autoscalers, _ := e.cache.autoscalers.HorizontalPodAutoscalers(namespace).List(labels.Everything())
	out := map[string]demand{}
	for _, hpa := range autoscalers {
		d := demand{metrics: hpa.Spec.Metrics, want: 1, have: 1}
		target := hpa.Spec.ScaleTargetRef.Kind + "/" + hpa.Spec.ScaleTargetRef.Name
		// Once the autoscaler has decided for that count the load is at its target, also while its Pods are still
		// being made: counted against the few that are ready it would be too high, and more would be asked for.
		if n, ok := e.wanted(hpa); ok && n != int64(hpa.Status.CurrentReplicas) && n != int64(hpa.Status.DesiredReplicas) {
			if have := e.readyPods(pods, target); have > 0 {
				d.want, d.have = n, have
			}
		}
		out[target] = d
	}
	return out
}

func (e *engine) readyPods(pods []*corev1.Pod, workload string) int64 {
	n := int64(0)
	for _, pod := range pods {
		if isReady(pod) && slices.Contains(e.workloadsOf(pod), workload) {
			n++
		}
	}
	return n
}

// wanted is how many replicas the rules want of an autoscaler now, if they want anything.
func (e *engine) wanted(hpa *autoscalingv2.HorizontalPodAutoscaler) (int64, bool) {
	effects := e.rules.forObject(&rules.Object{
		Group: autoscalingv2.GroupName, Kind: "HorizontalPodAutoscaler", Namespace: hpa.Namespace, Name: hpa.Name,
		Generation: hpa.Generation,
		Occurrence: e.census.of("HorizontalPodAutoscaler", hpa.Namespace, hpa.Name, hpa.UID),
	})
	since, ok := e.objects.since(hpa.UID)
	if !ok {
		return 0, false
	}
	age := e.clock.Since(since)
	ref := hpa.Spec.ScaleTargetRef
	latest := rules.ScaleAt{At: -1}
	for _, s := range effects.Scales {
		if s.Target.Kind == ref.Kind && s.Target.Name == ref.Name && s.At <= age && s.At >= latest.At {
			latest = s
		}
	}
	return int64(latest.Replicas), latest.At >= 0
}

func isReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// workloadsOf names the workloads above a Pod.
func (e *engine) workloadsOf(pod *corev1.Pod) []string {
	subject, err := e.subjectOf(pod, e.pods.get(pod, e.clock.Now()))
	if err != nil {
		return nil
	}
	var out []string
	for i := range subject.Owners {
		out = append(out, subject.Owners[i].Kind+"/"+subject.Owners[i].Name)
	}
	return out
}

// use is what one container of a Pod uses of a resource, in milli-units. Index is the Pod's place among
// those of its workload: what does not divide evenly is spread so that the sum is exact, because the
// autoscaler adds up first.
func (d *demand) use(name corev1.ResourceName, request resource.Quantity, containers, index int64) int64 {
	for i := range d.metrics {
		target, of := d.targetFor(&d.metrics[i], name)
		if !of {
			continue
		}
		per, divisor := request.MilliValue()*d.want, d.have
		switch {
		case target.AverageUtilization != nil:
			per, divisor = per*int64(*target.AverageUtilization), divisor*100
		case target.AverageValue != nil:
			per, divisor = target.AverageValue.MilliValue()*d.want, divisor*containers
		default:
			continue
		}
		return per*(index+1)/divisor - per*index/divisor
	}
	return request.MilliValue() * idleShare / 100
}

func (d *demand) targetFor(m *autoscalingv2.MetricSpec, name corev1.ResourceName) (autoscalingv2.MetricTarget, bool) {
	switch {
	case m.Resource != nil && m.Resource.Name == name:
		return m.Resource.Target, true
	case m.ContainerResource != nil && m.ContainerResource.Name == name:
		return m.ContainerResource.Target, true
	}
	return autoscalingv2.MetricTarget{}, false
}

// podUsage computes the usage of the running Pods of a namespace.
func (e *engine) podUsage(namespace string, selector labels.Selector) []PodUsage {
	all, _ := e.cache.pods.Pods(namespace).List(labels.Everything())
	pods := slices.DeleteFunc(slices.Clone(all), func(p *corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning })
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	demands := e.demands(namespace, pods)
	index := map[string]int64{}
	var out []PodUsage
	for _, pod := range pods {
		d, workload := demand{}, ""
		for _, name := range e.workloadsOf(pod) {
			if found, ok := demands[name]; ok {
				d, workload = found, name
			}
		}
		usage := PodUsage{Namespace: namespace, Name: pod.Name, Labels: pod.Labels, Containers: map[string]corev1.ResourceList{}}
		for i := range pod.Spec.Containers {
			usage.Containers[pod.Spec.Containers[i].Name] = d.container(&pod.Spec.Containers[i], int64(len(pod.Spec.Containers)), index[workload])
		}
		if isReady(pod) {
			index[workload]++
		}
		if selector.Matches(labels.Set(pod.Labels)) {
			out = append(out, usage)
		}
	}
	return out
}

func (d *demand) container(c *corev1.Container, containers, index int64) corev1.ResourceList {
	cpu := d.use(corev1.ResourceCPU, c.Resources.Requests[corev1.ResourceCPU], containers, index)
	memory := d.use(corev1.ResourceMemory, c.Resources.Requests[corev1.ResourceMemory], containers, index)
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(cpu, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewMilliQuantity(memory, resource.BinarySI),
	}
}

// nodeUsage is what the Pods of a node request, as far as they use it.
func (e *engine) nodeUsage(selector labels.Selector) []NodeUsage {
	var out []NodeUsage
	nodes := e.nodesInUse()
	for _, n := range nodes {
		if !selector.Matches(labels.Set(n.Node.Labels)) {
			continue
		}
		total := corev1.ResourceList{}
		for _, pod := range n.Pods {
			requests := scheduler.Requests(pod)
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				quantity, sum := requests[name], total[name]
				sum.Add(*resource.NewMilliQuantity(quantity.MilliValue()*idleShare/100, quantity.Format))
				total[name] = sum
			}
		}
		out = append(out, NodeUsage{Name: n.Node.Name, Labels: n.Node.Labels, Usage: total})
	}
	return out
}

// podNamespaces returns the namespaces that have Pods.
func (e *engine) podNamespaces() []string {
	all, _ := e.cache.pods.List(labels.Everything())
	seen := map[string]bool{}
	for _, pod := range all {
		seen[pod.Namespace] = true
	}
	return slices.Sorted(maps.Keys(seen))
}
