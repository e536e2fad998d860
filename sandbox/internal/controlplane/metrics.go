// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/wavetrain/wavetrain/sandbox/internal/metricsapi"
	"github.com/wavetrain/wavetrain/sandbox/internal/sim"
)

// window is the interval the simulator's numbers are said to be measured over. Simulated usage is exact at any
// instant; a short window lets the autoscaler count a Pod that has just become ready.
const window = time.Second

// usage gives the simulator's numbers to the metrics API.
type usage struct {
	simulator *sim.Simulator
}

var _ metricsapi.Source = usage{}

// PodMetrics implements metricsapi.Source.
func (u usage) PodMetrics(namespace string) []metricsapi.PodUsage {
	now := time.Now()
	used := u.simulator.PodUsage(namespace, labels.Everything())
	pods := make([]metricsapi.PodUsage, 0, len(used))
	for _, pod := range used {
		pods = append(pods, metricsapi.PodUsage{
			Namespace:  pod.Namespace,
			Name:       pod.Name,
			Labels:     pod.Labels,
			Timestamp:  now,
			Window:     window,
			Containers: containers(pod.Containers),
		})
	}
	return pods
}

// NodeMetrics implements metricsapi.Source.
func (u usage) NodeMetrics() []metricsapi.NodeUsage {
	now := time.Now()
	used := u.simulator.NodeUsage(labels.Everything())
	nodes := make([]metricsapi.NodeUsage, 0, len(used))
	for _, node := range used {
		nodes = append(nodes, metricsapi.NodeUsage{
			Name:      node.Name,
			Labels:    node.Labels,
			Timestamp: now,
			Window:    window,
			CPU:       *node.Usage.Cpu(),
			Memory:    *node.Usage.Memory(),
		})
	}
	return nodes
}

func containers(used map[string]corev1.ResourceList) []metricsapi.ContainerUsage {
	list := make([]metricsapi.ContainerUsage, 0, len(used))
	for name, resources := range used {
		list = append(list, metricsapi.ContainerUsage{Name: name, CPU: *resources.Cpu(), Memory: *resources.Memory()})
	}
	return list
}
