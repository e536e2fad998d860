// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

func newSteadyCmd(b *bench) *cobra.Command {
	c := steady{bench: b}
	cmd := &cobra.Command{
		Use:   "steady",
		Short: "What it costs while nothing changes",
		Long: `Deliver Applications, wait until nothing has changed for a while, and measure what the controller
uses and asks for while nothing changes. The floor is the same controller before there was any
Application. The objects are loaded by the engine itself, which takes its time.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().IntVar(&c.applications, "applications", 1000, "number of Applications")
	cmd.Flags().IntVar(&c.objects, "objects", 20, "objects of each")
	cmd.Flags().DurationVar(&c.settle, "settle", time.Minute, "how long nothing has changed before it is measured")
	cmd.Flags().DurationVar(&c.measured, "for", 5*time.Minute, "how long it is measured")
	cmd.Flags().DurationVar(&c.idle, "floor-for", 30*time.Second, "how long the floor is measured")
	return cmd
}

type steady struct {
	*bench
	applications, objects  int
	settle, measured, idle time.Duration
}

func (c steady) run(ctx context.Context) (err error) {
	s, err := c.newStage(ctx, "steady")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	workloads := generate(c.applications, "steady", mixed(c.objects))
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
	// The start itself is not rest.
	if err := pause(ctx, min(c.idle, 5*time.Second)); err != nil {
		return err
	}
	c.say("the controller without Applications")
	floor, err := s.rest(ctx, p, c.idle, false)
	if err != nil {
		return err
	}
	c.say("delivering %d Applications", c.applications)
	if _, err := s.load(ctx, p, workloads, "steady", repo.url()); err != nil {
		return err
	}
	c.say("waiting %s, then measuring %s", c.settle, c.measured)
	if err := s.settled(ctx, c.settle); err != nil {
		return err
	}
	rest, err := s.rest(ctx, p, c.measured, true)
	if err != nil {
		return err
	}
	r := newReport("steady", "%d Applications of %d objects, nothing changing, %s measured from %s after the last change",
		c.applications, c.objects, c.measured, c.settle)
	r.beside("CPU, share of one core", rest.share(rest.used.cpu()), "%", floor.share(floor.used.cpu()), "no Applications", atMost(0.5))
	r.add("  of it the controller", rest.share(rest.used.Self), "%")
	r.add("  of it git and render workers", rest.share(rest.used.Children), "%")
	r.add("GET requests", float64(rest.counts["get"]), "", atMost(0))
	r.add("LIST requests", float64(rest.counts["list"]), "", atMost(0))
	r.add("writes but to Leases", float64(rest.writes()), "", atMost(0))
	r.add("watches opened", float64(rest.counts["watch"]), "")
	after, err := p.usage()
	if err != nil {
		return err
	}
	r.beside("RssAnon of the controller", megabytes(after.Anon), "MB", megabytes(floor.after.Anon), "no Applications")
	r.add("RssAnon of its render workers", megabytes(after.WorkersAnon), "MB")
	r.reads(rest.tally)
	return c.report(r)
}

// settled waits until the controller has written nothing for a while: what was
// delivered becomes healthy when it does, and is told then.
func (s *stage) settled(ctx context.Context, d time.Duration) error {
	log, err := newTrail(s.audit)
	if err != nil {
		return err
	}
	began, last := time.Now(), time.Now()
	for time.Since(last) < d {
		if time.Since(began) > stuckAfter {
			return errors.Join(fmt.Errorf("the controller has not come to rest within %s", stuckAfter), log.Close())
		}
		err := log.requests(func(r request) {
			if r.write() && r.ObjectRef.Resource != "leases" {
				last = time.Now()
			}
		}, engineAgent)
		if err = errors.Join(err, pause(ctx, min(d, 100*time.Millisecond))); err != nil {
			return errors.Join(err, log.Close())
		}
	}
	return log.Close()
}

// load puts the workloads into a namespace of their own and delivers them.
func (s *stage) load(ctx context.Context, p *process, workloads []workload, namespace, repoURL string) (time.Duration, error) {
	if err := s.namespaces(ctx, namespace); err != nil {
		return 0, err
	}
	for i := range workloads {
		workloads[i].namespace = namespace
	}
	return s.deliver(ctx, p, workloads, repoURL)
}

// rest measures the controller while nobody wants anything of it.
func (s *stage) rest(ctx context.Context, p *process, d time.Duration, profile bool) (measured, error) {
	quiet := *s
	if !profile {
		bench := *s.bench
		bench.profile = ""
		quiet.bench = &bench
	}
	return quiet.measure(ctx, p, func() (time.Duration, error) {
		began := time.Now()
		err := pause(ctx, d)
		return time.Since(began), err
	})
}

// share is CPU time as a percentage of one core.
func (m measured) share(cpu time.Duration) float64 { return 100 * cpu.Seconds() / m.wall.Seconds() }
