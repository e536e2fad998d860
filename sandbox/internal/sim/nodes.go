// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/wavetrain/wavetrain/sandbox/internal/sim/rules"
)

const (
	nodeLease   = 40 * time.Second
	renewLease  = 20 * time.Second
	defaultSize = 3
	region      = "local"
)

// simulatedLabel marks our nodes.
const simulatedLabel = "wavetrain.dev/simulated"

func defaultCapacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("32"),
		corev1.ResourceMemory:           resource.MustParse("128Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("500Gi"),
		corev1.ResourcePods:             resource.MustParse("250"),
	}
}

// zoneOf spreads nodes over three zones.
func zoneOf(n int) string { return region + "-" + string(rune('a'+(n-1)%3)) }

// nodeName is the name of the n-th node (from 1).
func nodeName(n int) string { return fmt.Sprintf("node-%d", n) }

// node is the n-th node.
func (e *engine) node(n int, with *rules.AddsNodes) (*corev1.Node, error) {
	name := nodeName(n)
	capacity := maps.Clone(e.opts.NodeCapacity)
	zone := zoneOf(n)
	extra := map[string]string{}
	if with != nil {
		for _, key := range slices.Sorted(maps.Keys(with.Capacity)) {
			quantity, err := resource.ParseQuantity(with.Capacity[key])
			if err != nil {
				return nil, fmt.Errorf("capacity %s of added nodes: %w", key, err)
			}
			capacity[corev1.ResourceName(key)] = quantity
		}
		extra = with.Labels
		if with.Zone != "" {
			zone = with.Zone
		}
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
			corev1.LabelTopologyZone: zone, corev1.LabelTopologyRegion: region,
			corev1.LabelInstanceTypeStable: "simulated", simulatedLabel: "true",
		}},
	}
	maps.Copy(node.Labels, extra)
	node.Status = corev1.NodeStatus{
		Capacity: capacity, Allocatable: capacity,
		Addresses: []corev1.NodeAddress{
			// The API server asks the kubelet at the internal address, all of them at one; a host name it would
			// try to resolve first.
			{Type: corev1.NodeInternalIP, Address: kubeletAddress},
			{Type: corev1.NodeExternalIP, Address: fmt.Sprintf("10.0.%d.%d", n>>8, n&255)},
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: e.logs.port()}},
		NodeInfo: corev1.NodeSystemInfo{
			KubeletVersion: "v1.37.2", OperatingSystem: "linux", Architecture: "amd64",
			ContainerRuntimeVersion: "simulated://1", OSImage: "Wavetrain simulated node", KernelVersion: "simulated",
			MachineID: name, SystemUUID: name, BootID: name,
		},
	}
	return node, nil
}

// ensureNode makes a node, or takes over one that is there, and makes it Ready.
func (e *engine) ensureNode(ctx context.Context, want *corev1.Node) error {
	api := e.client.CoreV1().Nodes()
	live, err := api.Create(ctx, want, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		live, err = api.Get(ctx, want.Name, metav1.GetOptions{})
	}
	if err != nil {
		return fmt.Errorf("make node %s: %w", want.Name, err)
	}
	// Admission taints a new node as not ready; elsewhere the node life-cycle controller takes that off.
	untainted := slices.DeleteFunc(slices.Clone(live.Spec.Taints), func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeNotReady
	})
	if len(untainted) != len(live.Spec.Taints) {
		live.Spec.Taints = untainted
		if live, err = api.Update(ctx, live, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("make node %s: %w", want.Name, err)
		}
	}
	live.Status = want.Status
	live.Status.Conditions = e.nodeConditions()
	if _, err = api.UpdateStatus(ctx, live, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("make node %s ready: %w", want.Name, err)
	}
	return nil
}

func (e *engine) nodeConditions() []corev1.NodeCondition {
	now := metav1.NewTime(time.Now())
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
	}
}

// startNodes makes the nodes of the beginning.
func (e *engine) startNodes(ctx context.Context) error {
	errs := make([]error, e.opts.Nodes)
	var wg sync.WaitGroup
	for i := range e.opts.Nodes {
		wg.Go(func() {
			node, err := e.node(i+1, nil)
			if err == nil {
				err = e.ensureNode(ctx, node)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return errors.Join(errors.Join(errs...), e.moveKubelets(ctx))
}

// moveKubelets tells nodes that are left from an earlier start where their kubelet answers now.
func (e *engine) moveKubelets(ctx context.Context) error {
	all, err := e.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: simulatedLabel + "=true"})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for i := range all.Items {
		node := &all.Items[i]
		if node.Status.DaemonEndpoints.KubeletEndpoint.Port == e.logs.port() {
			continue
		}
		node.Status.DaemonEndpoints.KubeletEndpoint.Port = e.logs.port()
		if _, err := e.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("move the kubelet of node %s: %w", node.Name, err)
		}
	}
	return nil
}

// renewLeases keeps the nodes' leases until ctx ends.
func (e *engine) renewLeases(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		all, _ := e.cache.nodes.List(labels.SelectorFromSet(labels.Set{simulatedLabel: "true"}))
		for _, node := range all {
			if err := e.renewLease(ctx, node); err != nil && ctx.Err() == nil {
				e.log.V(1).Info("renew a lease", "node", node.Name, "error", err.Error())
			}
		}
	}, renewLease)
}

func (e *engine) renewLease(ctx context.Context, node *corev1.Node) error {
	api := e.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now := metav1.NewMicroTime(time.Now())
	lease, err := api.Get(ctx, node.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = api.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: node.Name, OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID},
			}},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: &node.Name, LeaseDurationSeconds: new(int32(nodeLease.Seconds())), RenewTime: &now,
			},
		}, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	lease.Spec.RenewTime = &now
	_, err = api.Update(ctx, lease, metav1.UpdateOptions{})
	return err
}

// hostIP is the address of a node.
func (e *engine) hostIP(name string) string {
	node, err := e.cache.nodes.Get(name)
	if err != nil {
		return ""
	}
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeExternalIP {
			return a.Address
		}
	}
	return ""
}

// scaleUp is the autoscaler: since when which Pod fits nowhere, and which rules have added their nodes.
type scaleUp struct {
	mu    sync.Mutex
	since map[types.UID]time.Time
	done  map[string]bool
}

func newScaleUp() *scaleUp {
	return &scaleUp{since: map[types.UID]time.Time{}, done: map[string]bool{}}
}

func (s *scaleUp) forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, uid)
}

// addNodes adds the nodes of a rule when the time has come, once per rule. Only the scheduler's worker
// calls it.
func (e *engine) addNodes(ctx context.Context, pod *corev1.Pod, effects *rules.Rule) error {
	adds, now := effects.AddsNodes, e.clock.Now()
	rule := fmt.Sprintf("%s %+v", effects.Source, *adds)
	e.scaleUp.mu.Lock()
	since, known := e.scaleUp.since[pod.UID]
	if !known {
		since = now
		e.scaleUp.since[pod.UID] = now
	}
	done := e.scaleUp.done[rule]
	e.scaleUp.mu.Unlock()
	if done {
		return nil
	}
	all, _ := e.cache.nodes.List(labels.Everything())
	if !known {
		e.events.Eventf(pod, corev1.EventTypeNormal, "TriggeredScaleUp",
			"pod triggered scale-up: [{simulated %d->%d (max: %d)}]", len(all), len(all)+adds.Count, len(all)+adds.Count)
	}
	if due := since.Add(adds.After); now.Before(due) {
		e.wakeAt(item{role: roleScheduler}, due)
		return nil
	}
	first := len(all) + 1
	for _, node := range all {
		var n int
		if _, err := fmt.Sscanf(node.Name, "node-%d", &n); err == nil {
			first = max(first, n+1)
		}
	}
	for n := first; n < first+adds.Count; n++ {
		node, err := e.node(n, adds)
		if err != nil {
			return fmt.Errorf("%s: %w", effects.Source, err)
		}
		if err := e.ensureNode(ctx, node); err != nil {
			return err
		}
	}
	e.scaleUp.mu.Lock()
	defer e.scaleUp.mu.Unlock()
	e.scaleUp.done[rule] = true
	return nil
}
