// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"
)

func newPeersCmd(b *bench) *cobra.Command {
	c := peers{bench: b}
	cmd := &cobra.Command{
		Use:   "peers",
		Short: "The shape by which other engines were measured",
		Long: `Create Applications of a Deployment without replicas, a ServiceAccount, a Service and an Ingress
each, from one repository with more directories than Applications, and wait until all are Synced.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().IntVar(&c.applications, "applications", 100, "number of Applications")
	cmd.Flags().IntVar(&c.directories, "directories", 300, "directories of the repository")
	return cmd
}

type peers struct {
	*bench
	applications, directories int
}

func (c peers) run(ctx context.Context) error {
	workloads := generate(c.applications, "peer", peer)
	r := newReport("peers", "%d Applications of 4 objects from one repository of %d directories", c.applications, c.directories)
	run, err := c.againstFloors(ctx, workloads, "peers", strangers(max(0, c.directories-c.applications)))
	if err != nil {
		return err
	}
	run.report(r, c.applications, ratioAtMost(1.3), atMost(6))
	for i := range r.Figures {
		switch f := &r.Figures[i]; f.Name {
		case cpuFigure:
			f.bind(atMost(0.04))
		case memoryFigure:
			f.bind(atMost(120))
		}
	}
	run.tally.report(r, 4*c.applications, "object")
	return c.report(r)
}
