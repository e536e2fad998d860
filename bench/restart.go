// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func newRestartCmd(b *bench) *cobra.Command {
	c := restart{bench: b}
	cmd := &cobra.Command{
		Use:   "restart",
		Short: "A controller comes back to objects that are in sync",
		Long: `Deliver Applications, stop the controller, start it again and measure until it has looked at
every Application and its queue is empty. The floor is a bare client that lists the same kinds,
in pages of 500, and decodes them. The objects are loaded by the engine itself.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().IntVar(&c.applications, "applications", 1000, "number of Applications")
	cmd.Flags().IntVar(&c.objects, "objects", 20, "objects of each")
	cmd.Flags().DurationVar(&c.settle, "settle", 20*time.Second, "how long to wait after the delivery before the controller is stopped")
	return cmd
}

type restart struct {
	*bench
	applications, objects int
	settle                time.Duration
}

func (c restart) run(ctx context.Context) (err error) {
	s, err := c.newStage(ctx, "restart")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	workloads := generate(c.applications, "restart", mixed(c.objects))
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
	c.say("delivering %d Applications", c.applications)
	if _, err := s.load(ctx, p, workloads, "restart", repo.url()); err != nil {
		return err
	}
	if err := s.settled(ctx, c.settle); err != nil {
		return err
	}
	if err := p.stop(); err != nil {
		return err
	}
	floor, err := s.listKinds(ctx, workloads, "")
	if err != nil {
		return err
	}
	c.say("starting it again")
	log, err := newTrail(s.audit)
	if err != nil {
		return err
	}
	began := time.Now()
	if p, err = s.startController(ctx); err != nil {
		return err
	}
	ready := time.Since(began)
	profiled := s.startProfile(ctx, p)
	compared, err := s.awaitLooks(ctx, p, c.applications, began)
	if err = errors.Join(err, profiled()); err != nil {
		return err
	}
	used, err := p.usage()
	if err != nil {
		return err
	}
	if err := pause(ctx, settle); err != nil {
		return err
	}
	requests, most, err := countLists(log, workloads[0])
	if err != nil {
		return err
	}
	objects := c.applications * c.objects
	r := newReport("restart", "%d Applications of %d objects in sync, the controller starts again", c.applications, c.objects)
	r.add("until it says that it is ready", seconds(ready), "s")
	r.beside("until every Application was looked at", seconds(compared), "s", seconds(floor.took), "lists")
	r.add("lists of one managed kind, most", float64(most), "", atMost(1))
	r.add("dry runs, share of all objects", 100*float64(requests.counts["dry run"])/float64(objects), "%", atMost(1))
	r.add("writes but to Leases", float64(requests.writes()), "")
	r.add("CPU", seconds(used.cpu()), "CPU-s")
	r.add(memoryFigure+" afterwards", megabytes(used.Anon), "MB")
	r.reads(requests)
	return c.report(r)
}

// countLists counts what the controller has asked for, and how often it has listed
// that kind of the workload which it has listed most.
func countLists(log *trail, w workload) (requests *tally, most int, err error) {
	requests = newTally()
	lists := map[string]int{}
	err = log.requests(func(r request) {
		requests.add(r)
		// A list of one namespace is for what the controller itself is told.
		if r.ObjectRef.Namespace == "" && (r.Verb == "list" && !r.nextPage() || r.streamed()) {
			lists[r.ObjectRef.APIGroup+"/"+r.ObjectRef.Resource]++
		}
	}, engineAgent)
	for _, obj := range w.objects() {
		gvr := resourceOf(obj)
		most = max(most, lists[gvr.Group+"/"+gvr.Resource])
	}
	return requests, most, errors.Join(err, log.Close())
}

// awaitLooks waits until the controller has looked at n Applications and has
// nothing in its queue, and returns how long that took since began.
func (s *stage) awaitLooks(ctx context.Context, p *process, n int, began time.Time) (time.Duration, error) {
	queue, controller := map[string]string{"name": "application"}, map[string]string{"controller": "application"}
	var since time.Time
	for {
		looks, err := p.metric(ctx, "controller_runtime_reconcile_total", controller)
		if err != nil {
			return 0, err
		}
		queued, err := p.metric(ctx, "workqueue_depth", queue)
		if err != nil {
			return 0, err
		}
		active, err := p.metric(ctx, "controller_runtime_active_workers", controller)
		if err != nil {
			return 0, err
		}
		switch {
		case int(looks) < n || queued > 0 || active > 0:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > time.Second:
			return since.Sub(began), nil
		}
		if time.Since(began) > stuckAfter {
			return 0, errors.New("the controller has not looked at every Application in time")
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// lists is what it takes to list kinds.
type lists struct {
	pages []*unstructured.UnstructuredList
	took  time.Duration
}

// listKinds lists the kinds of the workloads as simply as it can be done.
func (s *stage) listKinds(ctx context.Context, workloads []workload, namespace string) (lists, error) {
	kinds := map[schema.GroupVersionResource]bool{}
	for _, w := range workloads {
		for _, obj := range w.objects() {
			kinds[resourceOf(obj)] = true
		}
	}
	var out lists
	began := time.Now()
	for kind := range kinds {
		opts := metav1.ListOptions{Limit: 500}
		for {
			page, err := s.dynamic.Resource(kind).Namespace(namespace).List(ctx, opts)
			if err != nil {
				return lists{}, err
			}
			out.pages = append(out.pages, page)
			if opts.Continue = page.GetContinue(); opts.Continue == "" {
				break
			}
		}
	}
	out.took = time.Since(began)
	return out, nil
}
