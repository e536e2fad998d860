// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

func newAppConfirmCmd(s Streams) *cobra.Command {
	k := newKube(s)
	cmd := &cobra.Command{
		Use:   "confirm-deletion NAME",
		Short: "Confirm what an Application waits to delete",
		Long: `Confirm what an Application waits to delete: the objects that its running operation would prune,
or those that would be deleted together with it. Both are named in the Application's status.

The confirmation counts for what waits now, not for later operations.`,
		Example:           `  wavetrain app confirm-deletion frontend`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeApps(k),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, app, err := k.application(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			before := app.DeepCopy()
			if app.Annotations == nil {
				app.Annotations = map[string]string{}
			}
			app.Annotations[manifest.AnnotationDeletionApproved] = time.Now().UTC().Format(time.RFC3339)
			if err := c.Patch(cmd.Context(), app, client.MergeFrom(before)); err != nil {
				return fmt.Errorf("confirm deletion for application %q: %w", app.Name, err)
			}
			fmt.Fprintf(s.Err, "application %q: deletion is confirmed\n", app.Name)
			return nil
		},
	}
	k.addAppFlags(cmd.Flags())
	return cmd
}
