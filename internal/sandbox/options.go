// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"strconv"
	"strings"
	"time"
)

// Options describe a control plane.
type Options struct {
	// Binary is the path of wavetrain-sandbox. Defaults to what FindBinary finds.
	Binary string
	// DataDir keeps objects and certificates for the next start. Defaults to a temporary directory that ends with the
	// sandbox.
	DataDir string
	// Port of the API server. Defaults to that of the last start, or a free one.
	Port int
	// Nodes is the number of simulated nodes. Defaults to the binary's choice.
	Nodes int
	// RulesFile directs the simulation. Defaults to rules.yaml in the data directory; see also Sandbox.SetRules.
	RulesFile string
	// RulesConfigMap, NAMESPACE/NAME, directs the simulation as well. Defaults to none.
	RulesConfigMap string
	// RuleSets names the shipped rules that are used. Defaults to none.
	RuleSets []string
	// WithoutCRDs leaves out the CRDs of the rule sets, for clusters into which somebody brings their own.
	WithoutCRDs bool
	// AuditLog is a file that receives one line for each request. Defaults to none.
	AuditLog string
	// ReadyFile is written, with what Info says, while the control plane is ready. Defaults to none.
	ReadyFile string
	// Waiting is called about once a second until the control plane is ready. Defaults to nothing.
	Waiting func(elapsed time.Duration)
}

// arguments are the options in the words of the binary.
func (o Options) arguments() []string {
	args := []string{"--output=json"}
	add := func(flag, value string) {
		if value != "" {
			args = append(args, "--"+flag+"="+value)
		}
	}
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	add("data-dir", o.DataDir)
	add("port", number(o.Port))
	add("nodes", number(o.Nodes))
	add("rules", o.RulesFile)
	add("rules-configmap", o.RulesConfigMap)
	add("rule-set", strings.Join(o.RuleSets, ","))
	add("audit-log", o.AuditLog)
	add("ready-file", o.ReadyFile)
	if o.WithoutCRDs {
		args = append(args, "--without-crds")
	}
	return args
}

// Info says where a control plane can be reached, in the words of the binary.
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
	// KubernetesVersion is that of the API server, such as v1.37.2.
	KubernetesVersion string `json:"kubernetesVersion"`
	// ReadySeconds is how long the start took.
	ReadySeconds float64 `json:"readySeconds"`
}
