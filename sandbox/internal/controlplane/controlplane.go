// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/wavetrain/wavetrain/sandbox/internal/datadir"
	"github.com/wavetrain/wavetrain/sandbox/internal/pki"
	"github.com/wavetrain/wavetrain/sandbox/internal/sim"
	"github.com/wavetrain/wavetrain/sandbox/internal/version"
)

// patience is how long all parts together may take to stop. It takes a part of a second, and longer on a busy machine;
// callers wait longer.
const patience = 30 * time.Second

// plane is a control plane that is being started, runs, or is being stopped.
type plane struct {
	opts Options
	dir  *datadir.Dir
	log  logr.Logger

	keys *pki.PKI
	etcd string
	// server is the URL of the API server, simulator how our own clients reach it.
	server    string
	simulator *rest.Config
	// simulation is what runs beside it.
	simulation *sim.Simulator
	// failed receives the first word of every part that stops by itself.
	failed chan error
	// stops undoes what was started, in the order of the start. The context bounds all of it.
	stops []func(context.Context)
}

// Run starts a control plane, calls ready once, and runs until the context ends or a part fails. The directory is
// locked meanwhile. The returned error is nil if the context ended it.
func Run(ctx context.Context, dir *datadir.Dir, opts Options, log logr.Logger, ready func(Running) error) error {
	begin := time.Now()
	p := &plane{opts: opts, dir: dir, log: log, failed: make(chan error, 8)}
	defer p.stop()

	for _, step := range []struct {
		name  string
		start func(context.Context) error
	}{
		{"database", p.startEtcd},
		{"API server", p.startAPIServer},
		{"controllers", p.startControllers},
		{"simulator", p.startSimulator},
		{"default objects", p.waitDefaults},
	} {
		if err := step.start(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("start %s: %w", step.name, err)
		}
		log.Info("started", "part", step.name, "after", time.Since(begin).String())
	}
	if err := ready(Running{Info: p.info(begin), ReloadRules: p.simulation.ReloadRules, Next: p.simulation.Next, Skip: p.simulation.Skip}); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-p.failed:
		return err
	}
}

func (p *plane) info(begin time.Time) Info {
	return Info{
		Server:            p.server,
		Kubeconfig:        p.dir.Kubeconfig(),
		DataDir:           p.dir.Path(),
		RulesFile:         p.opts.RulesFile,
		PID:               os.Getpid(),
		KubernetesVersion: version.Kubernetes(),
		ReadySeconds:      time.Since(begin).Round(10 * time.Millisecond).Seconds(),
	}
}

// stop stops the parts in reverse order of their start.
func (p *plane) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, stop := range slices.Backward(p.stops) {
		stop(ctx)
	}
}
