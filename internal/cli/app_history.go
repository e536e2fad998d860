// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

func newAppHistoryCmd(s Streams) *cobra.Command {
	k := newKube(s)
	var out output
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "List the syncs that ended well, the newest last",
		Example: `  wavetrain app history frontend
  wavetrain app history frontend -o json`,
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
			history := app.Status.History
			if history == nil {
				history = []v1alpha1.RevisionHistory{}
			}
			if done, err := out.structured(s.Out, history); done {
				return err
			}
			return table(s.Out, []string{"ID", "DEPLOYED", "TOOK", "REVISION", "BY"}, historyRows(history))
		},
	}
	k.addAppFlags(cmd.Flags())
	out.addFlag(cmd, "json", "yaml")
	return cmd
}

func historyRows(history []v1alpha1.RevisionHistory) [][]string {
	var rows [][]string
	for i := range history {
		h := &history[i]
		revisions := slices.Clone(h.Revisions)
		if len(revisions) == 0 {
			revisions = []string{h.Revision}
		}
		for j := range revisions {
			revisions[j] = shortRevision(revisions[j])
		}
		took := ""
		if h.DeployStartedAt != nil {
			took = h.DeployedAt.Sub(h.DeployStartedAt.Time).Round(time.Second).String()
		}
		by := h.InitiatedBy.Username
		if h.InitiatedBy.Automated {
			by = "automated"
		}
		rows = append(rows, []string{
			strconv.FormatInt(h.ID, 10), h.DeployedAt.UTC().Format(time.RFC3339), took, strings.Join(revisions, ","), by,
		})
	}
	return rows
}
