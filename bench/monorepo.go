// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/procfs"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/render/cache"
	"github.com/wavetrain/wavetrain/internal/render/worker"
	"github.com/wavetrain/wavetrain/internal/source"
)

func newMonorepoCmd(b *bench) *cobra.Command {
	c := mono{bench: b}
	cmd := &cobra.Command{
		Use:   "monorepo",
		Short: "Rendering from one repository of many services",
		Long: `Render a repository of charts and overlays, ten objects each, as the controller does: from a Git
server, in worker processes, with a cache on disk. Then commit a change to one service and decide
for all Applications what it concerns. There is no cluster and no controller process: what is
measured is the path from a commit to the rendered sets, from when the commit has been fetched.
The floor is a loop over the libraries of Helm and Kustomize in one process, before and after: it
loads the same files, from memory, renders them with the same values, and makes the text that
'helm template' (sorted, so each document is parsed once) and 'kustomize build' print. It reads
nothing from Git, parses no object, and keeps nothing.

With --controller the repository is delivered by 'wavetrain serve' to an embedded control plane
first, and what is measured is what the controller does when the commit comes.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.controller {
				return c.runController(cmd.Context())
			}
			return c.run(cmd.Context())
		},
	}
	cmd.Flags().IntVar(&c.services, "services", 2000, "services, and Applications: every other one a chart")
	cmd.Flags().BoolVar(&c.controller, "controller", false, "deliver them with a controller, then measure it when one of them changes")
	cmd.Flags().DurationVar(&c.settle, "settle", 20*time.Second, "with --controller, how long nothing has changed before the commit, and how long idleness is measured")
	cmd.Flags().IntVar(&c.sample, "floor-services", 200, "services of each tool that the floor renders")
	return cmd
}

type mono struct {
	*bench
	services, sample int
	controller       bool
	settle           time.Duration
}

// engineRoom is what the controller renders with.
type engineRoom struct {
	renderer *pipeline.Renderer
	store    *source.Store
	pool     *worker.Pool
}

func (c mono) newEngineRoom(dir string, env []string) (*engineRoom, error) {
	binary, err := filepath.Abs(c.wavetrain)
	if err != nil {
		return nil, err
	}
	store, err := source.NewStore(source.Options{Dir: filepath.Join(dir, "mirrors"), Env: env})
	if err != nil {
		return nil, err
	}
	kept, err := cache.Open(cache.Options{Dir: filepath.Join(dir, "renderings")})
	if err != nil {
		return nil, err
	}
	pool := worker.NewPool(worker.Options{Command: []string{binary, "render-worker"}})
	return &engineRoom{
		store: store, pool: pool,
		renderer: pipeline.NewRenderer(store, nil, pipeline.Rendering{Render: pool.Render, Cache: kept}),
	}, nil
}

func (e *engineRoom) Close() {
	e.pool.Close()
	e.store.Close()
}

func (c mono) run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "wavetrain-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := &stage{bench: c.bench, dir: dir}
	defer func() { err = errors.Join(err, s.Close()) }()
	services := monoServices(c.services)
	c.say("committing %d services", len(services))
	repo, err := s.serveRepository(ctx, monorepo(services))
	if err != nil {
		return err
	}
	e, err := c.newEngineRoom(dir, s.gitEnv())
	if err != nil {
		return err
	}
	r := newReport("monorepo", "%d services of ten objects, half charts, half overlays; rendering only, without a cluster", c.services)
	c.say("fetching")
	first, err := c.look(ctx, e, repo.url(), services[:2])
	if err != nil {
		return err
	}
	r.add("CPU to fetch, the server's part included", seconds(first.cpu), "CPU-s")
	for _, charts := range []bool{true, false} {
		if err := c.cold(ctx, e, repo, only(services[2:], charts), r); err != nil {
			return err
		}
	}
	if err := c.afterCommit(ctx, e, repo, services, r); err != nil {
		return err
	}
	e.Close()
	c.say("another process with the same cache")
	if e, err = c.newEngineRoom(dir, s.gitEnv()); err != nil {
		return err
	}
	defer e.Close()
	again, err := c.look(ctx, e, repo.url(), services)
	if err != nil {
		return err
	}
	r.add("renders after a restart", float64(again.rendered), "", atMost(0))
	r.add("CPU to recall all after a restart", seconds(again.cpu), "CPU-s")
	return c.report(r)
}

// cold renders services for the first time, between two runs of the floor: the
// machine is never the same.
func (c mono) cold(ctx context.Context, e *engineRoom, repo *repository, services []monoService, r *Report) error {
	name := tool(services[0].chart)
	c.say("rendering all %s, with the floor around it", name)
	before, err := sdkLoop(ctx, services, c.sample)
	if err != nil {
		return err
	}
	cold, err := c.look(ctx, e, repo.url(), services)
	if err != nil {
		return err
	}
	after, err := sdkLoop(ctx, services, c.sample)
	if err != nil {
		return err
	}
	floor := work{applications: before.applications + after.applications, wall: before.wall + after.wall, cpu: before.cpu + after.cpu}
	r.beside(name+": renders per CPU-second", cold.perCPU(), "/s", floor.perCPU(), "SDK", ratioAtLeast(0.8))
	r.beside(name+": renders per second, cold", cold.perSecond(), "/s", floor.perSecond(), "SDK", ratioAtLeast(0.8))
	r.add(name+": cores busy, cold", seconds(cold.cpu)/seconds(cold.wall), "")
	r.add(name+": cores busy or waited for, cold", seconds(cold.demand)/seconds(cold.wall), "", atLeast(0.9*float64(runtime.NumCPU())))
	return nil
}

func tool(chart bool) string {
	if chart {
		return "Helm"
	}
	return "Kustomize"
}

func only(services []monoService, charts bool) []monoService {
	var list []monoService
	for _, s := range services {
		if s.chart == charts {
			list = append(list, s)
		}
	}
	return list
}

// afterCommit commits a change to one chart and looks at all Applications.
func (c mono) afterCommit(ctx context.Context, e *engineRoom, repo *repository, services []monoService, r *Report) error {
	changed := services[len(services)/2&^1]
	files := map[string][]byte{}
	for name, text := range changed.files("1.0.1") {
		files[changed.path+"/"+name] = []byte(text)
	}
	if err := repo.commit(ctx, files); err != nil {
		return err
	}
	c.say("one service has changed")
	e.store.Forget(repo.url())
	// The first look fetches.
	first, err := c.look(ctx, e, repo.url(), services[len(services)-1:])
	if err != nil {
		return err
	}
	all, err := c.look(ctx, e, repo.url(), services)
	if err != nil {
		return err
	}
	r.add("renders after a commit to one service", float64(first.rendered+all.rendered), "", exactly(1))
	r.add("CPU to decide for all after the fetch", seconds(all.cpu), "CPU-s", atMost(1))
	r.add("wall to decide for all after the fetch", seconds(all.wall), "s")
	return nil
}

// work is what looking at Applications took.
type work struct {
	applications, rendered int
	wall, cpu              time.Duration
	// demand is cpu with the time that was waited for a processor.
	demand time.Duration
}

// perCPU is how many Applications a second of CPU time was enough for. The kernel
// counts in hundredths.
func (w work) perCPU() float64 {
	return float64(w.applications) / max(seconds(w.cpu), 0.01)
}

func (w work) perSecond() float64 { return float64(w.applications) / seconds(w.wall) }

// look resolves and renders the Applications, as many side by side as the
// controller does.
func (c mono) look(ctx context.Context, e *engineRoom, url string, services []monoService) (work, error) {
	before, err := familyCPU()
	if err != nil {
		return work{}, err
	}
	wanted, err := demandOf(os.Getpid())
	if err != nil {
		return work{}, err
	}
	began := time.Now()
	var rendered atomic.Int64
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(c.workers)
	for _, s := range services {
		group.Go(func() error {
			req := pipeline.Request{
				App: s.name, Name: s.name, AppNamespace: "argocd", Project: v1alpha1.DefaultProject, Namespace: "apps", KubeVersion: "v1.37.2",
				Sources: []v1alpha1.ApplicationSource{{RepoURL: url, Path: s.path, TargetRevision: "main"}},
			}
			revisions, err := e.renderer.Resolve(groupCtx, req.Project, req.Sources)
			if err != nil {
				return err
			}
			desired, err := e.renderer.Render(groupCtx, req, revisions)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if !desired.Reused {
				rendered.Add(1)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return work{}, err
	}
	wall := time.Since(began)
	after, err := familyCPU()
	if err != nil {
		return work{}, err
	}
	demand, err := demandOf(os.Getpid())
	return work{applications: len(services), rendered: int(rendered.Load()), wall: wall, cpu: after - before, demand: demand - wanted}, err
}

// familyCPU is the CPU time of this process and of all that it started: workers
// and git, the server's included.
func familyCPU() (time.Duration, error) {
	self, err := procfs.Self()
	if err != nil {
		return 0, err
	}
	u, err := usageOf(self.PID)
	return u.cpu(), err
}
