// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

func newWavesCmd(b *bench) *cobra.Command {
	c := waves{bench: b}
	cmd := &cobra.Command{
		Use:   "waves",
		Short: "One Application of many waves",
		Long: `Create an Application of ConfigMaps, one in each wave, and wait until it is Synced. Floor and
engine take turns; the median of all rounds is reported.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().IntVar(&c.waves, "waves", 10, "number of waves")
	cmd.Flags().IntVar(&c.rounds, "rounds", 9, "how often it is measured")
	return cmd
}

type waves struct {
	*bench
	waves, rounds int
}

func (c waves) run(ctx context.Context) (err error) {
	s, err := c.newStage(ctx, "waves")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	workloads := generate(c.rounds, "ladder", ladder(c.waves))
	files, err := repositoryFiles(workloads)
	if err != nil {
		return err
	}
	repo, err := s.serveRepository(ctx, files)
	if err != nil {
		return err
	}
	p, err := s.startController(ctx)
	if err != nil {
		return err
	}
	var engine, a, b []time.Duration
	var all measured
	for round, w := range workloads {
		one := []workload{w}
		took, err := s.floorA(ctx, one, fmt.Sprintf("waves-floor-a-%d", round))
		if err != nil {
			return err
		}
		a = append(a, took.wall)
		if took, err = s.floorB(ctx, one, fmt.Sprintf("waves-floor-b-%d", round), repo.url()); err != nil {
			return err
		}
		b = append(b, took.wall)
		one[0].namespace = fmt.Sprintf("waves-%d", round)
		if err := s.namespaces(ctx, one[0].namespace); err != nil {
			return err
		}
		m, err := s.measure(ctx, p, func() (time.Duration, error) { return s.deliver(ctx, p, one, repo.url()) })
		if err != nil {
			return err
		}
		engine, all = append(engine, m.wall), m
	}
	for _, list := range [][]time.Duration{engine, a, b} {
		slices.Sort(list)
	}
	r := newReport("waves", "%d ConfigMaps in %d waves, from creation to Synced; %d rounds", c.waves, c.waves, c.rounds)
	median := percentile(engine, 0.5)
	r.beside("wall, median", seconds(median), "s", seconds(percentile(b, 0.5)), "B", atMost(0.5))
	r.beside("wall, median", seconds(median), "s", seconds(percentile(a, 0.5)), "A")
	r.add("wall, longest", seconds(engine[len(engine)-1]), "s")
	r.add("Application writes per operation", float64(all.mostApplicationWrites()), "", atMost(3))
	all.tally.report(r, c.waves, "object of the last round")
	return c.report(r)
}
