// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Options say how large the simulated cluster is and what directs it.
type Options struct {
	// Nodes is the number of simulated nodes. Defaults to 3.
	Nodes int
	// NodeCapacity is what each node offers. Defaults to 32 CPUs, 128 Gi of memory and 250 Pods.
	NodeCapacity corev1.ResourceList
	// RulesFile is a file of rules; it is read again when it changes. Defaults to none.
	RulesFile string
	// RulesConfigMap holds rules as well, read again when it changes; they come before those of the
	// file. Defaults to none.
	RulesConfigMap types.NamespacedName
	// RuleSets names the shipped rule sets that are active. Nil means all of RuleSetNames.
	RuleSets []string
	// InstallCRDs installs the CustomResourceDefinitions of the rule sets.
	InstallCRDs bool
	// PollInterval is how often RulesFile is looked at. Defaults to 500 ms.
	PollInterval time.Duration
	// Log receives what a person directing the simulation must know, such as rules that do not parse.
	// Defaults to discarding.
	Log logr.Logger
}

// Simulator is a running simulation.
type Simulator struct{}

// Start installs what the simulation brings, starts it, and returns once nodes are Ready and the rules
// are read; it runs until ctx ends.
func Start(ctx context.Context, cfg *rest.Config, opts Options) (*Simulator, error) {
	return &Simulator{}, nil
}

// Wait blocks until everything that Start began has ended, which follows the end of its context.
func (s *Simulator) Wait() {}

// ReloadRules reads RulesFile again now.
func (s *Simulator) ReloadRules() error { return nil }

// PodUsage is what the containers of one Pod use at the moment.
type PodUsage struct {
	Namespace, Name string
	Labels          map[string]string
	// Containers maps a container's name to its usage (cpu and memory).
	Containers map[string]corev1.ResourceList
}

// NodeUsage is what one node uses at the moment.
type NodeUsage struct {
	Name   string
	Labels map[string]string
	Usage  corev1.ResourceList
}

// PodUsage returns the usage of the running Pods that selector selects, sorted by namespace and name. An
// empty namespace means all.
func (s *Simulator) PodUsage(namespace string, selector labels.Selector) []PodUsage { return nil }

// NodeUsage returns the usage of the nodes that selector selects, sorted by name.
func (s *Simulator) NodeUsage(selector labels.Selector) []NodeUsage { return nil }
