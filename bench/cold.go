// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/spf13/cobra"
)

func newColdCmd(b *bench) *cobra.Command {
	c := cold{bench: b}
	cmd := &cobra.Command{
		Use:   "cold",
		Short: "Many Applications from nothing to Synced",
		Long: `Create Applications of ConfigMaps, ServiceAccounts, Roles, RoleBindings, Deployments without
replicas and Services in three waves, and wait until all are Synced and their operations have
succeeded. Both floors apply the same objects wave by wave, in another namespace, before.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().IntVar(&c.applications, "applications", 200, "number of Applications")
	cmd.Flags().IntVar(&c.objects, "objects", 25, "objects of each")
	return cmd
}

type cold struct {
	*bench
	applications, objects int
}

func (c cold) run(ctx context.Context) error {
	workloads := generate(c.applications, "cold", mixed(c.objects))
	r := newReport("cold", "%d Applications of %d objects in three waves, from nothing to Synced", c.applications, c.objects)
	run, err := c.againstFloors(ctx, workloads, "cold", nil)
	if err != nil {
		return err
	}
	run.report(r, c.applications, ratioAtMost(1.25))
	run.tally.report(r, c.applications*c.objects, "object")
	return c.report(r)
}

// againstFloors is what a delivery took and what the floors took.
type againstFloors struct {
	measured
	a, b floor
}

// report adds what was measured beside the floors.
func (m againstFloors) report(r *Report, applications int, ofB bound, wall ...bound) {
	r.beside("wall, creation to all Synced", seconds(m.wall), "s", seconds(m.b.wall), "B", ofB)
	r.beside("wall, creation to all Synced", seconds(m.wall), "s", seconds(m.b.observed), "B, observed", wall...)
	r.beside("wall, creation to all Synced", seconds(m.wall), "s", seconds(m.a.wall), "A")
	r.beside("CPU of the control plane", seconds(m.plane), "CPU-s", seconds(m.b.plane), "B, observed")
	m.measured.report(r, applications)
	r.add("Application writes per operation, most", float64(m.mostApplicationWrites()), "", atMost(3))
}

// againstFloors measures the floors and the delivery of the workloads by a controller
// that has nothing else to do. A cluster gets slower with what it holds, the address
// of a Service is looked for among all of them, and a machine's speed changes: floor B
// is taken before and after, and its mean counts.
func (b *bench) againstFloors(ctx context.Context, workloads []workload, namespace string, more map[string][]byte) (out againstFloors, err error) {
	s, err := b.newStage(ctx, namespace)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	files, err := repositoryFiles(workloads)
	if err != nil {
		return out, err
	}
	maps.Copy(files, more)
	repo, err := s.serveRepository(ctx, files)
	if err != nil {
		return out, err
	}
	b.say("floor A")
	if out.a, err = s.floorA(ctx, workloads, namespace+"-floor-a"); err != nil {
		return out, err
	}
	b.say("floor A took %.1f s; floor B", seconds(out.a.wall))
	if out.b, err = s.floorB(ctx, workloads, namespace+"-floor-b", repo.url()); err != nil {
		return out, err
	}
	b.say("floor B took %.1f s; Wavetrain", seconds(out.b.wall))
	if err := s.namespaces(ctx, namespace); err != nil {
		return out, err
	}
	for i := range workloads {
		workloads[i].namespace = namespace
	}
	p, err := s.startController(ctx)
	if err != nil {
		return out, err
	}
	out.measured, err = s.measure(ctx, p, func() (time.Duration, error) { return s.deliver(ctx, p, workloads, repo.url()) })
	if err != nil {
		return out, err
	}
	b.say("Wavetrain took %.1f s; floor B again", seconds(out.wall))
	if err := p.stop(); err != nil {
		return out, err
	}
	again, err := s.floorB(ctx, workloads, namespace+"-floor-b2", repo.url())
	if err != nil {
		return out, err
	}
	b.say("floor B took %.1f s", seconds(again.wall))
	out.b = out.b.mean(again)
	return out, nil
}

// strangers are files of a repository that no Application uses.
func strangers(n int) map[string][]byte {
	files := map[string][]byte{}
	for i := range n {
		files[fmt.Sprintf("others/%04d/README.md", i)] = fmt.Appendf(nil, "directory %d\n", i)
	}
	return files
}
