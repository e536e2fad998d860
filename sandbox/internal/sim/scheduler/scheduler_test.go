// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// claims maps a claim's name to bound, unbound, or waits (for a first consumer).
type claims map[string]string

func (c claims) Claim(_, name string) (exists, bound, waits bool) {
	state := c[name]
	return state != "", state == "bound", state == "waits"
}

func list(cpu, pods string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourcePods: resource.MustParse(pods)}
}

// cluster has three nodes of 4 CPUs and 10 Pods in zones a, b and c.
func cluster() []*Node {
	var out []*Node
	for i, zone := range []string{"a", "b", "c"} {
		name := fmt.Sprintf("node-%d", i+1)
		out = append(out, NewNode(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
				corev1.LabelHostname: name, corev1.LabelTopologyZone: zone, "size": fmt.Sprint(i + 1),
			}},
			Status: corev1.NodeStatus{Allocatable: list("4", "10")},
		}))
	}
	return out
}

func pod(name, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}},
	}
}

func TestPlace(t *testing.T) {
	claim := func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}}
	}
	require := func(op corev1.NodeSelectorOperator, key string, values ...string) func(*corev1.Pod, []*Node) {
		return func(p *corev1.Pod, _ []*Node) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}},
			}}}
		}
	}
	cases := map[string]struct {
		reason string
		set    func(*corev1.Pod, []*Node)
		claims claims
		needs  Needs
		node   string
		why    string
	}{
		"Empty":       {reason: "the first by name", node: "node-1"},
		"FewestPods":  {reason: "Pods are spread", set: func(_ *corev1.Pod, n []*Node) { n[0].Add(pod("x", "0")) }, node: "node-2"},
		"Selector":    {reason: "node selector", set: func(p *corev1.Pod, _ []*Node) { p.Spec.NodeSelector = map[string]string{"size": "3"} }, node: "node-3"},
		"NotSelected": {reason: "no such node", set: func(p *corev1.Pod, _ []*Node) { p.Spec.NodeSelector = map[string]string{"size": "9"} }, why: "3 node(s) didn't match Pod's node affinity/selector"},
		"AffinityIn":  {reason: "required node affinity", set: require(corev1.NodeSelectorOpIn, corev1.LabelTopologyZone, "b", "z"), node: "node-2"},
		"AffinityNot": {reason: "required node affinity", set: require(corev1.NodeSelectorOpNotIn, corev1.LabelTopologyZone, "a"), node: "node-2"},
		"AffinityGt":  {reason: "numbers are compared as such", set: require(corev1.NodeSelectorOpGt, "size", "2"), node: "node-3"},
		"AffinityField": {
			reason: "DaemonSets choose their node by name",
			set: func(p *corev1.Pod, _ []*Node) {
				p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"node-3"}}}}},
				}}}
			},
			node: "node-3",
		},
		"TooLarge": {
			reason: "requests count", set: func(p *corev1.Pod, _ []*Node) {
				p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("5")
			},
			why: "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
		},
		"Full": {
			reason: "what runs counts too",
			set: func(_ *corev1.Pod, nodes []*Node) {
				for _, n := range nodes[:2] {
					n.Add(pod("x", "4"))
				}
				for i := range 10 {
					nodes[2].Add(pod(fmt.Sprint(i), "0"))
				}
			},
			why: "1 Too many pods, 2 Insufficient cpu",
		},
		"Taint": {
			reason: "taints keep Pods off",
			set: func(_ *corev1.Pod, nodes []*Node) {
				for _, n := range nodes {
					n.Node.Spec.Taints = []corev1.Taint{{Key: "pool", Value: "gpu", Effect: corev1.TaintEffectNoSchedule}}
				}
			},
			why: "3 node(s) had untolerated taint {pool: gpu}",
		},
		"Tolerated": {
			reason: "unless they are tolerated",
			set: func(p *corev1.Pod, nodes []*Node) {
				nodes[0].Node.Spec.Taints = []corev1.Taint{{Key: "pool", Value: "gpu", Effect: corev1.TaintEffectNoSchedule}}
				p.Spec.Tolerations = []corev1.Toleration{{Key: "pool", Operator: corev1.TolerationOpExists}}
			},
			node: "node-1",
		},
		"Cordoned": {reason: "an unschedulable node takes none", set: func(_ *corev1.Pod, n []*Node) { n[0].Node.Spec.Unschedulable = true }, node: "node-2"},
		"AntiAffinity": {
			reason: "one per zone",
			set: func(p *corev1.Pod, nodes []*Node) {
				p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					TopologyKey: corev1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
				}}}}
				for _, n := range nodes {
					n.Add(pod("x", "0"))
				}
			},
			why: "3 node(s) didn't match pod anti-affinity rules",
		},
		"ClaimMissing":   {reason: "a claim that is not there", set: func(p *corev1.Pod, _ []*Node) { claim(p) }, why: `persistentvolumeclaim "data" not found`},
		"ClaimUnbound":   {reason: "an immediate claim must be bound first", set: func(p *corev1.Pod, _ []*Node) { claim(p) }, claims: claims{"data": "unbound"}, why: "pod has unbound immediate PersistentVolumeClaims"},
		"ClaimWaits":     {reason: "a waiting claim wants a node first", set: func(p *corev1.Pod, _ []*Node) { claim(p) }, claims: claims{"data": "waits"}, node: "node-1"},
		"ClaimBound":     {reason: "bound", set: func(p *corev1.Pod, _ []*Node) { claim(p) }, claims: claims{"data": "bound"}, node: "node-1"},
		"RuleNeeds":      {reason: "or that it is there", needs: Needs{Existing: []string{"other"}}, why: `persistentvolumeclaim "other" not found`},
		"RuleNeedsBound": {reason: "a rule may want a claim bound that the Pod does not mount", needs: Needs{Bound: []string{"other"}}, claims: claims{"other": "waits"}, why: "pod has unbound immediate PersistentVolumeClaims"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, nodes := pod("p", "1"), cluster()
			if tc.set != nil {
				tc.set(p, nodes)
			}
			node, why := Place(p, nodes, tc.claims, tc.needs)
			if node != tc.node || !strings.Contains(why, tc.why) || (why == "") != (tc.why == "") {
				t.Errorf("%s: Place = %q, %q; want %q, %q", tc.reason, node, why, tc.node, tc.why)
			}
		})
	}
}

func TestPlaceWithoutNodes(t *testing.T) {
	if node, why := Place(pod("p", "1"), nil, claims{}, Needs{}); node != "" || why != "no nodes available to schedule pods" {
		t.Errorf("Place = %q, %q", node, why)
	}
}

func TestRequests(t *testing.T) {
	p := pod("p", "1")
	with := func(cpu string, policy *corev1.ContainerRestartPolicy) corev1.Container {
		return corev1.Container{RestartPolicy: policy, Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
		}}
	}
	p.Spec.InitContainers = []corev1.Container{with("500m", new(corev1.ContainerRestartPolicyAlways)), with("3", nil)}
	got := Requests(p)
	if cpu := got[corev1.ResourceCPU]; cpu.String() != "3" {
		t.Errorf("the largest init container or the sum of the others, sidecars included: %s, want 3", cpu.String())
	}
	if pods := got[corev1.ResourcePods]; pods.Value() != 1 {
		t.Errorf("a Pod counts as one: %s", pods.String())
	}
}
