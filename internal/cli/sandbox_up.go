// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/wavetrain/wavetrain/internal/sandbox"
)

func newSandboxUpCmd(s Streams, instances sandbox.Instances) *cobra.Command {
	var opts sandbox.Options
	cmd := &cobra.Command{
		Use:   "up [NAME]",
		Short: "Start a control plane, or continue one that was stopped",
		Long: `Start a control plane in the background and wait until it is ready; continue one that was
stopped, with its objects, its address, its kubeconfig, and the flags that are not given
this time. One that runs already is left as it is.

Exit codes: 0 it runs, 1 it could not be started, 2 wrong usage.`,
		Example: `  # The control plane named "default"
  wavetrain sandbox up

  # A further one, with five nodes, directed by rules
  wavetrain sandbox up staging --nodes 5 --rules sim.yaml

  # External Secrets and CloudNativePG are simulated as well
  wavetrain sandbox up --rule-set external-secrets,cnpg`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeSandboxes(instances),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := sandboxName(args)
			if err != nil {
				return err
			}
			if opts.Port < 0 || opts.Port > 65535 || opts.Nodes < 0 {
				return usageError("--port and --nodes cannot be negative, a port is at most 65535")
			}
			for _, path := range []*string{&opts.RulesFile, &opts.AuditLog} {
				if *path != "" {
					if *path, err = filepath.Abs(*path); err != nil {
						return err
					}
				}
			}
			opts.Waiting = func(elapsed time.Duration) {
				fmt.Fprintf(s.Err, "sandbox %q is starting (%s)\n", name, elapsed.Round(time.Second))
			}
			status, started, err := instances.Up(cmd.Context(), name, opts)
			if err != nil {
				return err
			}
			return reportUp(s, status, started)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVar(&opts.Nodes, "nodes", 0, "number of simulated nodes (default 3)")
	flags.IntVar(&opts.Port, "port", 0, "port of the API server on 127.0.0.1 (default that of the last start, or a free one)")
	flags.StringVar(&opts.RulesFile, "rules", "", "file of rules that direct the simulation, read again when it changes (default rules.yaml in the sandbox's directory)")
	flags.StringVar(&opts.RulesConfigMap, "rules-configmap", "", "NAMESPACE/NAME of a ConfigMap with further rules")
	flags.StringSliceVar(&opts.RuleSets, "rule-set", nil, "shipped rules to use, with their CRDs: external-secrets, cnpg")
	flags.BoolVar(&opts.WithoutCRDs, "without-crds", false, "do not install the CRDs of the rule sets")
	flags.StringVar(&opts.AuditLog, "audit-log", "", "record every request to the API server in this file")
	return cmd
}

func reportUp(s Streams, status sandbox.Status, started bool) error {
	done := fmt.Sprintf("started in %.1f s", status.ReadySeconds)
	if !started {
		done = "runs already"
	}
	fmt.Fprintf(s.Err, "sandbox %q %s: Kubernetes %s at %s\nTo use it: export KUBECONFIG=%s\n",
		status.Name, done, status.KubernetesVersion, status.Server, status.Kubeconfig)
	return nil
}
