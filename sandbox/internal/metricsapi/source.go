// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package metricsapi

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Source says what Pods and Nodes use right now. Implementations are called from many goroutines.
type Source interface {
	// PodMetrics returns the usage of the running Pods of a namespace, of all namespaces when it is empty.
	// The order does not matter: answers are sorted.
	PodMetrics(namespace string) []PodUsage
	// NodeMetrics returns the usage of every Node.
	NodeMetrics() []NodeUsage
}

// PodUsage is what one Pod uses.
type PodUsage struct {
	Namespace string
	Name      string
	// Labels are the Pod's own: the autoscaler selects by them.
	Labels map[string]string
	// Timestamp is the end of the measured interval, Window its length.
	Timestamp  time.Time
	Window     time.Duration
	Containers []ContainerUsage
}

// ContainerUsage is what one container uses.
type ContainerUsage struct {
	Name   string
	CPU    resource.Quantity
	Memory resource.Quantity
}

// NodeUsage is what one Node uses.
type NodeUsage struct {
	Name      string
	Labels    map[string]string
	Timestamp time.Time
	Window    time.Duration
	CPU       resource.Quantity
	Memory    resource.Quantity
}
