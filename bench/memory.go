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

func newMemoryCmd(b *bench) *cobra.Command {
	c := memory{bench: b}
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "Memory per managed object",
		Long: `Deliver Applications up to one number of objects and up to another, and compare the anonymous
memory of the controller: the slope is what one object costs, the intercept what none costs.
The floor is the size of the objects as JSON, with managed fields, as a list returns them. The
objects are loaded by the engine itself; after each loading memory has some time to be given back.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().IntVar(&c.few, "few", 500, "Applications at first")
	cmd.Flags().IntVar(&c.many, "many", 2000, "Applications in the end")
	cmd.Flags().IntVar(&c.objects, "objects", 20, "objects of each")
	cmd.Flags().DurationVar(&c.settle, "settle", 150*time.Second, "how long after the last change memory is read: Go collects at rest every two minutes")
	return cmd
}

type memory struct {
	*bench
	few, many, objects int
	settle             time.Duration
}

func (c memory) run(ctx context.Context) (err error) {
	if c.few < 1 || c.many <= c.few {
		return errors.New("--many must be more than --few")
	}
	s, err := c.newStage(ctx, "memory")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	workloads := generate(c.many, "memory", mixed(c.objects))
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
	var at [2]usage
	for i, part := range [][]workload{workloads[:c.few], workloads[c.few:]} {
		c.say("delivering %d Applications", len(part))
		if _, err := s.load(ctx, p, part, fmt.Sprintf("memory-%d", i), repo.url()); err != nil {
			return err
		}
		if err := pause(ctx, c.settle); err != nil {
			return err
		}
		if at[i], err = p.usage(); err != nil {
			return err
		}
	}
	few, many := float64(c.few*c.objects), float64(c.many*c.objects)
	slope := (float64(at[1].Anon) - float64(at[0].Anon)) / (many - few)
	size, err := s.sizeOf(ctx, workloads[:c.few], "memory-0")
	if err != nil {
		return err
	}
	r := newReport("memory", "%d and %d Applications of %d objects, read %s after the last change", c.few, c.many, c.objects, c.settle)
	r.beside("RssAnon per managed object", slope, "B", size, "JSON", atMost(1500))
	r.add("RssAnon without objects, extrapolated", (float64(at[0].Anon)-slope*few)/1e6, "MB", atMost(120))
	r.add(fmt.Sprintf("RssAnon with %.0f objects", few), megabytes(at[0].Anon), "MB")
	r.add(fmt.Sprintf("RssAnon with %.0f objects", many), megabytes(at[1].Anon), "MB")
	r.add("RssAnon of its render workers", megabytes(at[1].WorkersAnon), "MB")
	return c.report(r)
}

// sizeOf returns the mean size of the workloads' live objects as JSON.
func (s *stage) sizeOf(ctx context.Context, workloads []workload, namespace string) (float64, error) {
	found, err := s.listKinds(ctx, workloads, namespace)
	if err != nil {
		return 0, err
	}
	objects, size := 0, 0
	for _, page := range found.pages {
		text, err := page.MarshalJSON()
		if err != nil {
			return 0, err
		}
		objects += len(page.Items)
		size += len(text)
	}
	return float64(size) / float64(max(1, objects)), nil
}
