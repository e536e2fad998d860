// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

func newCyclesCmd(b *bench) *cobra.Command {
	c := cycles{bench: b}
	cmd := &cobra.Command{
		Use:   "cycles",
		Short: "Applications come and go",
		Long: `Create an Application, wait until it is Synced, delete it with its objects, wait until it is gone,
and so on, several side by side, each under a new name. What the controller holds after warming
up and in the end must be the same.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().IntVar(&c.cycles, "cycles", 1000, "how many Applications come and go")
	cmd.Flags().IntVar(&c.warmup, "warm-up", 50, "how many before that, unmeasured")
	cmd.Flags().DurationVar(&c.settle, "settle", 15*time.Second, "how long to wait before goroutines are counted")
	return cmd
}

type cycles struct {
	*bench
	cycles, warmup int
	settle         time.Duration
}

// held is what a controller holds at a moment.
type held struct {
	goroutines float64
	usage
}

func (c cycles) run(ctx context.Context) (err error) {
	s, err := c.newStage(ctx, "cycles")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	// A workload for each that goes on at once.
	workloads := generate(c.concurrency, "slot", peer)
	files, err := repositoryFiles(workloads)
	if err != nil {
		return err
	}
	repo, err := s.serveRepository(ctx, files)
	if err != nil {
		return err
	}
	if err := s.namespaces(ctx, "cycles"); err != nil {
		return err
	}
	p, err := s.startController(ctx)
	if err != nil {
		return err
	}
	if err := s.comeAndGo(ctx, workloads, repo.url(), "warm", c.warmup); err != nil {
		return err
	}
	before, err := c.held(ctx, p)
	if err != nil {
		return err
	}
	c.say("%d cycles", c.cycles)
	m, err := s.measure(ctx, p, func() (time.Duration, error) {
		began := time.Now()
		err := s.comeAndGo(ctx, workloads, repo.url(), "cycle", c.cycles)
		return time.Since(began), err
	})
	if err != nil {
		return err
	}
	after, err := c.held(ctx, p)
	if err != nil {
		return err
	}
	r := newReport("cycles", "%d Applications of 4 objects created and deleted, %d side by side", c.cycles, c.concurrency)
	r.beside("goroutines in the end", after.goroutines, "", before.goroutines, "warm", ratioAtMost(1.05))
	r.beside("RssAnon in the end", megabytes(after.Anon), "MB", megabytes(before.Anon), "warm")
	r.add("cycles per second", float64(c.cycles)/m.wall.Seconds(), "/s")
	r.add("CPU per cycle", 1000*seconds(m.used.cpu())/float64(c.cycles), "CPU-ms")
	m.tally.report(r, c.cycles, "cycle")
	return c.report(r)
}

func (c cycles) held(ctx context.Context, p *process) (held, error) {
	if err := pause(ctx, c.settle); err != nil {
		return held{}, err
	}
	goroutines, err := p.metric(ctx, "go_goroutines", nil)
	if err != nil {
		return held{}, err
	}
	u, err := p.usage()
	return held{goroutines: goroutines, usage: u}, err
}

// comeAndGo lets n Applications come and go.
func (s *stage) comeAndGo(ctx context.Context, workloads []workload, repoURL, prefix string, n int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 4*time.Minute+time.Duration(n)*5*time.Second, errors.New("an Application did not come or go in time"))
	defer cancel()
	watcher, err := s.client.Watch(ctx, &v1alpha1.ApplicationList{}, client.InNamespace(s.control))
	if err != nil {
		return err
	}
	board := newNotices()
	var following sync.WaitGroup
	following.Go(func() { board.follow(watcher) })
	defer following.Wait()
	defer watcher.Stop()
	group, ctx := errgroup.WithContext(ctx)
	for slot, w := range workloads {
		group.Go(func() error {
			for i := slot; i < n; i += len(workloads) {
				app := application(w, s.control, repoURL)
				app.Name = fmt.Sprintf("%s-%d", prefix, i)
				app.Spec.Destination.Namespace = "cycles"
				app.Finalizers = []string{manifest.ResourcesFinalizer}
				if err := s.comeAndGoOnce(ctx, board, app); err != nil {
					return fmt.Errorf("%s: %w", app.Name, err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func (s *stage) comeAndGoOnce(ctx context.Context, board *notices, app *v1alpha1.Application) error {
	notice := board.of(app.Name)
	if err := s.client.Create(ctx, app); err != nil {
		return err
	}
	for _, step := range []struct {
		until chan struct{}
		then  func() error
	}{
		{notice.synced, func() error { return client.IgnoreNotFound(s.client.Delete(ctx, app)) }},
		{notice.gone, func() error { return nil }},
	} {
		select {
		case <-step.until:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := step.then(); err != nil && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// notice says what has become of an Application.
type notice struct {
	synced, gone chan struct{}
	once         sync.Once
}

// notices has one of each Application.
type notices struct {
	mu  sync.Mutex
	all map[string]*notice
}

func newNotices() *notices { return &notices{all: map[string]*notice{}} }

func (n *notices) of(name string) *notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all[name] == nil {
		n.all[name] = &notice{synced: make(chan struct{}), gone: make(chan struct{})}
	}
	return n.all[name]
}

func (n *notices) follow(watcher watch.Interface) {
	for e := range watcher.ResultChan() {
		app, ok := e.Object.(*v1alpha1.Application)
		if !ok {
			continue
		}
		about := n.of(app.Name)
		if synced(app) {
			about.once.Do(func() { close(about.synced) })
		}
		if e.Type == watch.Deleted {
			close(about.gone)
		}
	}
}
