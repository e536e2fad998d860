// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

func newAppGetCmd(s Streams) *cobra.Command {
	k := newKube(s)
	var out output
	cmd := &cobra.Command{
		Use:   "get NAME",
		Short: "Show an Application: what it compares, what it waits for, what it manages",
		Example: `  wavetrain app get frontend
  wavetrain app get frontend -o yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeApps(k),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			_, app, err := k.application(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if done, err := out.structured(s.Out, app); done {
				return err
			}
			return describeApp(s.Out, app)
		},
	}
	k.addAppFlags(cmd.Flags())
	out.addFlag(cmd, "json", "yaml")
	return cmd
}

// describeApp prints what a person wants to know about an Application.
func describeApp(w io.Writer, app *v1alpha1.Application) error {
	line := func(label, format string, args ...any) {
		fmt.Fprintf(w, "%-13s %s\n", label+":", fmt.Sprintf(format, args...))
	}
	line("Name", "%s/%s", app.Namespace, app.Name)
	line("Project", "%s", app.Spec.ProjectName())
	line("Destination", "%s, namespace %s", app.Spec.Destination.Server+app.Spec.Destination.Name, app.Spec.Destination.Namespace)
	for _, src := range app.Spec.EffectiveSources() {
		target := src.TargetRevision
		if target == "" {
			target = "HEAD"
		}
		line("Source", "%s %s at %s", src.RepoURL, src.Path+src.Chart, target)
	}
	sync := orNone(string(app.Status.Sync.Status))
	if revision := revisionOf(app); revision != "" {
		sync += " at " + shortRevision(revision)
	}
	line("Sync", "%s", sync)
	line("Health", "%s", strings.TrimSpace(orNone(string(app.Status.Health.Status))+" "+app.Status.Health.Message))
	for _, c := range app.Status.Conditions {
		line(string(c.Type), "%s", c.Message)
	}
	if state := app.Status.OperationState; state != nil {
		line("Operation", "%s", describeOperation(state))
		line("Message", "%s", state.Message)
	}
	if len(app.Status.Resources) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return resourceTable(w, app)
}

// resourceTable prints what an Application manages.
func resourceTable(w io.Writer, app *v1alpha1.Application) error {
	return table(w, []string{"WAVE", "KIND", "NAMESPACE", "NAME", "SYNC", "HEALTH", "MESSAGE"}, resourceRows(app))
}

func describeOperation(state *v1alpha1.OperationState) string {
	text := string(state.Phase)
	switch {
	case state.FinishedAt != nil:
		text += fmt.Sprintf(", took %s", state.FinishedAt.Sub(state.StartedAt.Time).Round(time.Second))
	case !state.StartedAt.IsZero():
		text += fmt.Sprintf(", since %s", state.StartedAt.Format(time.TimeOnly))
	}
	if state.SyncResult != nil {
		text += ", revision " + shortRevision(state.SyncResult.Revision)
	}
	if state.RetryCount > 0 {
		text += fmt.Sprintf(", retried %d times", state.RetryCount)
	}
	return text
}

func resourceRows(app *v1alpha1.Application) [][]string {
	results := map[string]string{}
	if state := app.Status.OperationState; state != nil && state.SyncResult != nil {
		for _, r := range state.SyncResult.Resources {
			results[r.Group+"/"+r.Kind+"/"+r.Namespace+"/"+r.Name] = r.Message
		}
	}
	var rows [][]string
	for _, r := range app.Status.Resources {
		sync := string(r.Status)
		switch {
		case r.Hook:
			sync = "hook"
		case r.RequiresPruning:
			sync += " (to prune)"
		}
		healthWord := ""
		if r.Health != nil {
			healthWord = string(r.Health.Status)
		}
		rows = append(rows, []string{
			strconv.FormatInt(r.SyncWave, 10), r.Kind, r.Namespace, r.Name, sync, healthWord,
			results[r.Group+"/"+r.Kind+"/"+r.Namespace+"/"+r.Name],
		})
	}
	return rows
}
