// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/wavetrain/wavetrain/internal/sandbox"
)

func newSandboxKubeconfigCmd(s Streams, instances sandbox.Instances) *cobra.Command {
	var raw bool
	cmd := &cobra.Command{
		Use:   "kubeconfig [NAME]",
		Short: "Print the path of a control plane's kubeconfig",
		Long: `Print the path of the kubeconfig with which its administrator reaches a control plane that
runs; with --raw, print what is in it, certificates and key included.

Exit codes: 0 printed, 1 the control plane does not run, 2 wrong usage.`,
		Example: `  export KUBECONFIG=$(wavetrain sandbox kubeconfig)
  wavetrain sandbox kubeconfig staging --raw > staging.kubeconfig`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeSandboxes(instances),
		RunE: func(_ *cobra.Command, args []string) error {
			name, err := sandboxName(args)
			if err != nil {
				return err
			}
			status, err := instances.Status(name)
			if err != nil {
				return hintAtUp(err)
			}
			if status.State != sandbox.StateRunning {
				return fmt.Errorf("sandbox %q is not running (%s): `wavetrain sandbox up %s` starts it", name, status.State, name)
			}
			if !raw {
				_, err := fmt.Fprintln(s.Out, status.Kubeconfig)
				return err
			}
			content, err := os.ReadFile(status.Kubeconfig)
			if err != nil {
				return fmt.Errorf("read kubeconfig of sandbox %q: %w", name, err)
			}
			_, err = s.Out.Write(content)
			return err
		},
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "print the content instead of the path")
	return cmd
}
