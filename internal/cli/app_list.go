// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

func newAppListCmd(s Streams) *cobra.Command {
	k := newKube(s)
	var out output
	var selector, project string
	var noHeaders bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List Applications with their sync and health status",
		Example: `  wavetrain app list
  wavetrain app list -A -o wide
  wavetrain app list -l team=payments -o name`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			c, err := k.client()
			if err != nil {
				return err
			}
			opts := k.scope()
			if selector != "" {
				matching, err := parseSelector(selector)
				if err != nil {
					return err
				}
				opts = append(opts, matching)
			}
			var list v1alpha1.ApplicationList
			if err := c.List(cmd.Context(), &list, opts...); err != nil {
				return fmt.Errorf("list applications: %w", err)
			}
			if project != "" {
				list.Items = ofProject(list.Items, project)
			}
			return printApps(s, &out, k.allNamespaces, noHeaders, list)
		},
	}
	k.addAppFlags(cmd.Flags())
	k.addAllNamespaces(cmd.Flags())
	out.addFlag(cmd, "wide", "json", "yaml", "name")
	cmd.Flags().StringVarP(&selector, "selector", "l", "", "label selector")
	cmd.Flags().StringVarP(&project, "project", "p", "", "only Applications of this project")
	cmd.Flags().BoolVar(&noHeaders, "no-headers", false, "leave the header out")
	return cmd
}

func ofProject(items []v1alpha1.Application, project string) []v1alpha1.Application {
	var kept []v1alpha1.Application
	for i := range items {
		if items[i].Spec.ProjectName() == project {
			kept = append(kept, items[i])
		}
	}
	return kept
}

func printApps(s Streams, out *output, namespaces, noHeaders bool, list v1alpha1.ApplicationList) error {
	if done, err := out.structured(s.Out, list); done {
		return err
	}
	if out.format == "name" {
		for i := range list.Items {
			fmt.Fprintf(s.Out, "application.argoproj.io/%s\n", list.Items[i].Name)
		}
		return nil
	}
	if len(list.Items) == 0 {
		fmt.Fprintln(s.Err, "No Applications found.")
		return nil
	}
	header := []string{"NAME", "SYNC", "HEALTH", "REVISION", "OPERATION", "MESSAGE"}
	if namespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	if out.format == "wide" {
		header = append(header, "PROJECT", "DESTINATION", "REPO", "PATH", "TARGET")
	}
	var rows [][]string
	for i := range list.Items {
		rows = append(rows, appRow(&list.Items[i], namespaces, out.format == "wide"))
	}
	if noHeaders {
		header, rows = rows[0], rows[1:]
	}
	return table(s.Out, header, rows)
}

func appRow(app *v1alpha1.Application, namespaces, wide bool) []string {
	message := remark(app)
	if !wide && len(message) > 90 {
		message = message[:87] + "..."
	}
	row := []string{
		app.Name, string(app.Status.Sync.Status), string(app.Status.Health.Status),
		shortRevision(revisionOf(app)), operationWord(app), message,
	}
	if namespaces {
		row = append([]string{app.Namespace}, row...)
	}
	if wide {
		src := v1alpha1.ApplicationSource{}
		if sources := app.Spec.EffectiveSources(); len(sources) > 0 {
			src = sources[0]
		}
		dest := app.Spec.Destination
		row = append(row, app.Spec.ProjectName(), dest.Server+dest.Name+"/"+dest.Namespace, src.RepoURL, src.Path, src.TargetRevision)
	}
	return row
}

func revisionOf(app *v1alpha1.Application) string {
	if len(app.Status.Sync.Revisions) > 0 {
		return app.Status.Sync.Revisions[0]
	}
	return app.Status.Sync.Revision
}

func parseSelector(text string) (client.ListOption, error) {
	parsed, err := labels.Parse(text)
	if err != nil {
		return nil, usageError("--selector %q: %v", text, err)
	}
	return client.MatchingLabelsSelector{Selector: parsed}, nil
}
