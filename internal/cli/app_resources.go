// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
)

// orphan is an object that no Application manages, as it is printed.
type orphan struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func newAppResourcesCmd(s Streams) *cobra.Command {
	k := newKube(s)
	var out output
	var orphaned bool
	cmd := &cobra.Command{
		Use:   "resources NAME",
		Short: "List what an Application manages, or what nobody does",
		Long: `List what an Application manages, or with --orphaned what lies in its destination namespace and
no Application manages, as far as its project monitors that (spec.orphanedResources). Every kind is
asked for that you may list.

Exit codes: 0 listed, 1 it could not be, 2 wrong usage.`,
		Example: `  wavetrain app resources frontend
  wavetrain app resources frontend --orphaned -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeApps(k),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			c, app, err := k.application(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if orphaned {
				return listOrphans(cmd.Context(), s, k, c, app, &out)
			}
			rows := app.Status.Resources
			if rows == nil {
				rows = []v1alpha1.ResourceStatus{}
			}
			if done, err := out.structured(s.Out, rows); done {
				return err
			}
			return resourceTable(s.Out, app)
		},
	}
	k.addAppFlags(cmd.Flags())
	out.addFlag(cmd, "json", "yaml")
	cmd.Flags().BoolVar(&orphaned, "orphaned", false, "what no Application manages")
	return cmd
}

// listOrphans prints what nobody manages in the destination namespace.
func listOrphans(ctx context.Context, s Streams, k *kube, c client.Client, app *v1alpha1.Application, out *output) error {
	cfg, err := k.restConfig()
	if err != nil {
		return err
	}
	keys, err := controller.Orphans(ctx, controller.Options{Config: cfg, Namespace: k.namespace}, c, app)
	if err != nil {
		return fmt.Errorf("look for orphaned resources of application %q: %w", app.Name, err)
	}
	orphans := make([]orphan, len(keys))
	rows := make([][]string, len(keys))
	for i, key := range keys {
		orphans[i] = orphan{Group: key.Group, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}
		rows[i] = []string{key.Group, key.Kind, key.Namespace, key.Name}
	}
	if done, err := out.structured(s.Out, orphans); done {
		return err
	}
	if len(rows) == 0 {
		fmt.Fprintf(s.Err, "Nothing is orphaned in namespace %s.\n", app.Spec.Destination.Namespace)
		return nil
	}
	return table(s.Out, []string{"GROUP", "KIND", "NAMESPACE", "NAME"}, rows)
}
