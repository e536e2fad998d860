// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Options describe one control plane. The zero value is one on a free port.
type Options struct {
	// Port of the API server. Defaults to the port of the last start, or a free one.
	Port int
	// AuditLog is a file that receives one line for each request. Defaults to none.
	AuditLog string
	// KubeconfigOut is a further place for the administrator's kubeconfig. Defaults to none.
	KubeconfigOut string

	// Nodes is the number of simulated nodes. Defaults to the simulator's choice.
	Nodes int
	// RulesFile directs the simulation. Defaults to one in the data directory, without a rule at first.
	RulesFile string
	// RulesConfigMap directs the simulation as well. Defaults to none.
	RulesConfigMap types.NamespacedName
	// RuleSets names the shipped rule sets that are active. Defaults to none.
	RuleSets []string
	// WithoutCRDs leaves out the CustomResourceDefinitions of the rule sets, for those who bring their own.
	WithoutCRDs bool
}

// Info says where a control plane that is ready can be reached.
type Info struct {
	// Server is the URL of the API server.
	Server string `json:"server"`
	// Kubeconfig is the administrator's kubeconfig.
	Kubeconfig string `json:"kubeconfig"`
	// DataDir holds data and logs.
	DataDir string `json:"dataDir"`
	// RulesFile directs the simulation.
	RulesFile string `json:"rulesFile"`
	// PID is the process.
	PID int `json:"pid"`
	// KubernetesVersion is what the API server reports.
	KubernetesVersion string `json:"kubernetesVersion"`
	// ReadySeconds is the time from the start of the process.
	ReadySeconds float64 `json:"readySeconds"`
}

// Running is a control plane that is ready.
type Running struct {
	Info
	// ReloadRules reads the file of rules again and returns when they are in force.
	ReloadRules func() error
	// Next is how long it takes until the simulation does something by itself; none if it only waits for others.
	Next func() (in time.Duration, pending bool)
	// Skip lets time of the simulation pass at once.
	Skip func(time.Duration)
}
