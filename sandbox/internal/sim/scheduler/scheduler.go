// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package scheduler decides on which node a Pod runs, or says in the scheduler's words why on none. It
// knows what applications commonly depend on: requests, node selectors and required node affinity, taints,
// required anti-affinity to other Pods, and claims. It does no I/O.
package scheduler

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Node is a node and what runs on it.
type Node struct {
	Node *corev1.Node
	Pods []*corev1.Pod
	used corev1.ResourceList
}

// NewNode returns a node without Pods.
func NewNode(node *corev1.Node) *Node { return &Node{Node: node, used: corev1.ResourceList{}} }

// Add counts pod as running on n.
func (n *Node) Add(pod *corev1.Pod) {
	n.Pods = append(n.Pods, pod)
	for name, quantity := range Requests(pod) {
		sum := n.used[name]
		sum.Add(quantity)
		n.used[name] = sum
	}
}

// Requests is what a Pod asks of a node, the Pod itself included.
func Requests(pod *corev1.Pod) corev1.ResourceList {
	total := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(1, resource.DecimalSI)}
	for i := range pod.Spec.Containers {
		add(total, pod.Spec.Containers[i].Resources.Requests)
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(total, c.Resources.Requests)
			continue
		}
		for name, quantity := range c.Resources.Requests {
			if has := total[name]; has.Cmp(quantity) < 0 {
				total[name] = quantity
			}
		}
	}
	add(total, pod.Spec.Overhead)
	return total
}

func add(total, more corev1.ResourceList) {
	for name, quantity := range more {
		sum := total[name]
		sum.Add(quantity)
		total[name] = sum
	}
}

// Claims tells about the claims of a Pod's namespace.
type Claims interface {
	// Claim reports whether the claim exists, is bound, and waits for a Pod before it is bound.
	Claim(namespace, name string) (exists, bound, waits bool)
}

// Needs names claims of a Pod's namespace that must be there, or bound, though the Pod may not mount them.
type Needs struct{ Existing, Bound []string }

// Place returns the node for pod, or why there is none. Among fitting nodes the one with the fewest Pods
// wins, then the first by name; nodes must be sorted by name.
func Place(pod *corev1.Pod, nodes []*Node, claims Claims, needs Needs) (node, why string) {
	if problem := claimProblem(pod, claims, needs); problem != "" {
		return "", unschedulable(len(nodes), problem)
	}
	requests := Requests(pod)
	reasons := map[string]int{}
	var best *Node
	for _, n := range nodes {
		if problems := misfits(pod, n, nodes, requests); len(problems) > 0 {
			for _, problem := range problems {
				reasons[problem]++
			}
			continue
		}
		if best == nil || len(n.Pods) < len(best.Pods) {
			best = n
		}
	}
	if best != nil {
		return best.Node.Name, ""
	}
	counted := make([]string, 0, len(reasons))
	for reason, n := range reasons {
		counted = append(counted, fmt.Sprintf("%d %s", n, reason))
	}
	slices.Sort(counted)
	if len(nodes) == 0 {
		return "", "no nodes available to schedule pods"
	}
	return "", unschedulable(len(nodes), strings.Join(counted, ", "))
}

func unschedulable(nodes int, why string) string {
	return fmt.Sprintf("0/%d nodes are available: %s. preemption: 0/%d nodes are available: %d Preemption is not helpful for scheduling.",
		nodes, why, nodes, nodes)
}

// claimProblem looks at the claims of the volumes and at those that are needed besides.
func claimProblem(pod *corev1.Pod, claims Claims, needs Needs) string {
	for i := range pod.Spec.Volumes {
		var name string
		switch v := &pod.Spec.Volumes[i]; {
		case v.PersistentVolumeClaim != nil:
			name = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			name = pod.Name + "-" + v.Name
		default:
			continue
		}
		exists, bound, waits := claims.Claim(pod.Namespace, name)
		switch {
		case !exists:
			return fmt.Sprintf("persistentvolumeclaim %q not found", name)
		case !bound && !waits:
			return "pod has unbound immediate PersistentVolumeClaims"
		}
	}
	for _, name := range needs.Existing {
		if exists, _, _ := claims.Claim(pod.Namespace, name); !exists {
			return fmt.Sprintf("persistentvolumeclaim %q not found", name)
		}
	}
	for _, name := range needs.Bound {
		exists, bound, _ := claims.Claim(pod.Namespace, name)
		switch {
		case !exists:
			return fmt.Sprintf("persistentvolumeclaim %q not found", name)
		case !bound:
			return "pod has unbound immediate PersistentVolumeClaims"
		}
	}
	return ""
}

// misfits names what keeps pod off n, as the scheduler's filters do; only the first kind of reason counts.
func misfits(pod *corev1.Pod, n *Node, all []*Node, requests corev1.ResourceList) []string {
	if n.Node.Spec.Unschedulable && !tolerates(pod, &corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}) {
		return []string{"node(s) were unschedulable"}
	}
	for i := range n.Node.Spec.Taints {
		taint := &n.Node.Spec.Taints[i]
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !tolerates(pod, taint) {
			return []string{fmt.Sprintf("node(s) had untolerated taint {%s: %s}", taint.Key, taint.Value)}
		}
	}
	if !selected(pod, n.Node) {
		return []string{"node(s) didn't match Pod's node affinity/selector"}
	}
	if lacking := lacks(n, requests); len(lacking) > 0 {
		return lacking
	}
	if repelled(pod, n, all) {
		return []string{"node(s) didn't match pod anti-affinity rules"}
	}
	return nil
}

func lacks(n *Node, requests corev1.ResourceList) []string {
	var out []string
	for name, want := range requests {
		if want.IsZero() {
			continue
		}
		sum := want.DeepCopy()
		sum.Add(n.used[name])
		if offers := n.Node.Status.Allocatable[name]; sum.Cmp(offers) <= 0 {
			continue
		}
		if name == corev1.ResourcePods {
			out = append(out, "Too many pods")
		} else {
			out = append(out, "Insufficient "+string(name))
		}
	}
	slices.Sort(out)
	return out
}

func tolerates(pod *corev1.Pod, taint *corev1.Taint) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
		if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
			return false
		}
		if t.Operator == corev1.TolerationOpExists {
			return true
		}
		return t.Key != "" && t.Value == taint.Value
	})
}

// selected evaluates nodeSelector and the required node affinity.
func selected(pod *corev1.Pod, node *corev1.Node) bool {
	if !labels.SelectorFromSet(pod.Spec.NodeSelector).Matches(labels.Set(node.Labels)) {
		return false
	}
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	fields := map[string]string{metav1.ObjectNameField: node.Name}
	return slices.ContainsFunc(a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms,
		func(term corev1.NodeSelectorTerm) bool {
			return len(term.MatchExpressions)+len(term.MatchFields) > 0 &&
				allMatch(term.MatchExpressions, node.Labels) && allMatch(term.MatchFields, fields)
		})
}

func allMatch(requirements []corev1.NodeSelectorRequirement, values map[string]string) bool {
	for i := range requirements {
		if !matches(&requirements[i], values) {
			return false
		}
	}
	return true
}

func matches(r *corev1.NodeSelectorRequirement, values map[string]string) bool {
	value, has := values[r.Key]
	switch r.Operator {
	case corev1.NodeSelectorOpIn:
		return has && slices.Contains(r.Values, value)
	case corev1.NodeSelectorOpNotIn:
		return !has || !slices.Contains(r.Values, value)
	case corev1.NodeSelectorOpExists:
		return has
	case corev1.NodeSelectorOpDoesNotExist:
		return !has
	}
	have, err := resource.ParseQuantity(value)
	if !has || err != nil || len(r.Values) != 1 {
		return false
	}
	bound, err := resource.ParseQuantity(r.Values[0])
	if err != nil {
		return false
	}
	if r.Operator == corev1.NodeSelectorOpGt {
		return have.Cmp(bound) > 0
	}
	return have.Cmp(bound) < 0
}

// repelled evaluates the Pod's own required anti-affinity against the Pods of the same topology.
func repelled(pod *corev1.Pod, n *Node, all []*Node) bool {
	a := pod.Spec.Affinity
	if a == nil || a.PodAntiAffinity == nil {
		return false
	}
	for i := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		term := &a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i]
		selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
		topology, ok := n.Node.Labels[term.TopologyKey]
		if err != nil || !ok {
			continue
		}
		for _, other := range all {
			if other.Node.Labels[term.TopologyKey] == topology && anySelected(pod, other.Pods, term, selector) {
				return true
			}
		}
	}
	return false
}

func anySelected(pod *corev1.Pod, others []*corev1.Pod, term *corev1.PodAffinityTerm, selector labels.Selector) bool {
	return slices.ContainsFunc(others, func(other *corev1.Pod) bool {
		near := other.Namespace == pod.Namespace && len(term.Namespaces) == 0 || slices.Contains(term.Namespaces, other.Namespace)
		return near && selector.Matches(labels.Set(other.Labels))
	})
}
