// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wavetrain/wavetrain/internal/sandbox"
)

func newSandboxDownCmd(s Streams, instances sandbox.Instances) *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use:   "down [NAME]",
		Short: "Stop a control plane",
		Long: `Stop a control plane. Its objects are kept, and 'wavetrain sandbox up' continues it; with
--delete they are removed.

Exit codes: 0 it is stopped, 1 it does not exist or could not be stopped, 2 wrong usage.`,
		Example: `  wavetrain sandbox down
  wavetrain sandbox down staging --delete`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeSandboxes(instances),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := sandboxName(args)
			if err != nil {
				return err
			}
			stopped, err := instances.Down(cmd.Context(), name)
			if err != nil {
				return hintAtUp(err)
			}
			done := "stopped"
			if !stopped {
				done = "was not running"
			}
			if remove {
				if err := instances.Delete(cmd.Context(), name); err != nil {
					return err
				}
				done += ", and is deleted"
			}
			fmt.Fprintf(s.Err, "sandbox %q %s\n", name, done)
			return nil
		},
	}
	cmd.Flags().BoolVar(&remove, "delete", false, "also remove its objects, certificates and logs")
	return cmd
}
