// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/render/cache"
	"github.com/wavetrain/wavetrain/internal/render/plugin"
	"github.com/wavetrain/wavetrain/internal/render/worker"
)

// workerCommand is the hidden command that makes this program a render worker.
const workerCommand = "render-worker"

func newRenderWorkerCmd(s Streams) *cobra.Command {
	return &cobra.Command{
		Use:    workerCommand,
		Short:  "Render for a controller (started by it)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(*cobra.Command, []string) error { return worker.Serve(s.In, s.Out) },
	}
}

// programCommand is the hidden command that limits itself and becomes a plugin's
// program.
const programCommand = "render-program"

func newRenderProgramCmd(s Streams) *cobra.Command {
	return &cobra.Command{
		Use:                programCommand + " SECONDS PROGRAM...",
		Short:              "Run a plugin's program for a controller (started by it)",
		Hidden:             true,
		DisableFlagParsing: true,
		Args:               cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			seconds, err := strconv.Atoi(args[0])
			if err != nil {
				return usageError("%q is no number of seconds", args[0])
			}
			return worker.Become(seconds, args[1:], s.Environ)
		},
	}
}

// renderFlags are the limits of rendering what others have written.
type renderFlags struct {
	memory    resource.QuantityValue
	cpu, wall duration
	workers   int
	plugins   string
}

func defaultRenderFlags() renderFlags {
	limits := worker.Limits{}.WithDefaults()
	return renderFlags{
		memory: resource.QuantityValue{Quantity: *resource.NewQuantity(limits.Memory, resource.BinarySI)},
		cpu:    duration{limits.CPU}, wall: duration{limits.Wall},
	}
}

func (f *renderFlags) addFlags(flags *pflag.FlagSet) {
	flags.IntVar(&f.workers, "render-workers", 0, "how many sources are rendered at once, each in a process of its own (default: one per processor)")
	flags.Var(&f.memory, "render-memory", "the memory that rendering one source may take")
	flags.Var(&f.cpu, "render-cpu", "the processor time that rendering one source may take")
	flags.StringVar(&f.plugins, "plugins", "", "directory with config management plugins: NAME.yaml or NAME/plugin.yaml; their programs run with the rights of the controller")
	flags.Var(&f.wall, "render-timeout", "how long rendering one source may last")
}

func (f *renderFlags) check() error {
	switch {
	case f.workers < 0:
		return usageError("--render-workers must not be negative")
	case f.memory.Value() < 128<<20:
		return usageError("--render-memory must be at least 128Mi")
	case f.cpu.Duration < time.Second || f.wall.Duration < time.Second:
		return usageError("--render-cpu and --render-timeout must be at least one second")
	}
	return nil
}

// rendering renders in workers and keeps what was rendered in dir. The returned
// function ends the workers.
func (f *renderFlags) rendering(s Streams, dir string) (pipeline.Rendering, func(), error) {
	self, err := os.Executable()
	if err != nil {
		return pipeline.Rendering{}, nil, fmt.Errorf("find this program to start render workers: %w", err)
	}
	kept, err := cache.Open(cache.Options{Dir: dir})
	if err != nil {
		return pipeline.Rendering{}, nil, err
	}
	limits := worker.Limits{Memory: f.memory.Value(), CPU: f.cpu.Duration, Wall: f.wall.Duration}
	pool := worker.NewPool(worker.Options{Command: []string{self, workerCommand}, Size: f.workers, Limits: limits})
	rendering := pipeline.Rendering{Render: pool.Render, Cache: kept}
	if f.plugins != "" {
		plugins, err := plugin.Load(f.plugins)
		if err != nil {
			return pipeline.Rendering{}, nil, err
		}
		runner := plugin.Runner{Plugins: plugins, Path: s.Env("PATH"), Limits: limits, Command: []string{self, programCommand}}
		rendering.Render, rendering.Variant = runner.Around(pool.Render), runner.Variant()
	}
	return rendering, pool.Close, nil
}
