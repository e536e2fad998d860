// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/wavetrain/wavetrain/internal/sandbox"
)

// defaultSandbox is the name of the control plane when none is given.
const defaultSandbox = "default"

func newSandboxCmd(s Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Manage embedded control planes on this machine",
		Long: `Manage embedded control planes on this machine: a real Kubernetes API server with its
controllers, and simulated nodes. No container runtime is needed.

Each has a name ("default" when none is given), runs in the background until it is
brought down, and keeps its objects for the next time.`,
		Example: `  wavetrain sandbox up
  export KUBECONFIG=$(wavetrain sandbox kubeconfig)
  kubectl get nodes
  wavetrain sandbox down`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	instances := sandbox.Instances{Dir: filepath.Join(s.stateDir(), "sandboxes")}
	cmd.AddCommand(
		newSandboxUpCmd(s, instances),
		newSandboxDownCmd(s, instances),
		newSandboxStatusCmd(s, instances),
		newSandboxKubeconfigCmd(s, instances),
	)
	return cmd
}

// sandboxName is the name among the arguments, or the default.
func sandboxName(args []string) (string, error) {
	if len(args) == 0 {
		return defaultSandbox, nil
	}
	if err := sandbox.CheckName(args[0]); err != nil {
		return "", usageError("%w", err)
	}
	return args[0], nil
}

// hintAtUp adds what to do about a control plane that does not exist.
func hintAtUp(err error) error {
	if errors.Is(err, sandbox.ErrNotFound) {
		return fmt.Errorf("%w: `wavetrain sandbox status` shows all, `wavetrain sandbox up` makes one", err)
	}
	return err
}

func completeSandboxes(instances sandbox.Instances) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		list, err := instances.List()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names := make([]cobra.Completion, len(list))
		for i, status := range list {
			names[i] = status.Name
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
