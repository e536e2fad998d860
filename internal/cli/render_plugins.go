// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/plugin"
)

// pluginFlags name the config management plugins that render sources.
type pluginFlags struct{ dir string }

func (f *pluginFlags) addFlag(flags *pflag.FlagSet) {
	flags.StringVar(&f.dir, "plugins", "", "directory with config management plugins, as `wavetrain serve` has it: NAME.yaml or NAME/plugin.yaml; their programs run with your rights")
}

// runner runs the plugins that were named; nil if none were.
func (f *pluginFlags) runner(s Streams) (*plugin.Runner, error) {
	if f.dir == "" {
		return nil, nil
	}
	plugins, err := plugin.Load(f.dir)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to limit plugins: %w", err)
	}
	return &plugin.Runner{Plugins: plugins, Path: s.Env("PATH"), Command: []string{self, programCommand}}, nil
}

// rendering renders with the plugins that were named, in this process.
func (f *pluginFlags) rendering(s Streams) (pipeline.Rendering, error) {
	runner, err := f.runner(s)
	if err != nil || runner == nil {
		return pipeline.Rendering{}, err
	}
	return pipeline.Rendering{Render: runner.Around(render.Render), Variant: runner.Variant()}, nil
}

// collector renders with the plugins that were named.
func (a *wavesArguments) collector(s Streams) (*wavesCollector, error) {
	rendering, err := a.plugins.rendering(s)
	if err != nil {
		return nil, err
	}
	c := newWavesCollector(*a, s.In)
	c.renderings.by = rendering.Render
	return c, nil
}

// announcedFor are the parameters that a plugin announces for a source.
type announcedFor struct {
	Name string `json:"name"`
	Path string `json:"path"`
	*plugin.Announced
}

// announce prints what parameters plugins take.
func (a *renderArguments) announce(ctx context.Context, s Streams, collector *wavesCollector) error {
	runner, err := a.plugins.runner(s)
	if err != nil {
		return err
	}
	list := []announcedFor{}
	collector.instead = func(ctx context.Context, src render.Source, target render.Target) error {
		found, err := runner.Parameters(ctx, src, target)
		if err == nil && found == nil {
			return fmt.Errorf("source %s is rendered without a plugin", src.Path)
		}
		list = append(list, announcedFor{Name: target.AppName, Path: src.Path, Announced: found})
		return err
	}
	if err := collector.collect(ctx); err != nil {
		return err
	}
	if done, err := a.output.structured(s.Out, list); done {
		return err
	}
	for i, of := range list {
		if i > 0 {
			fmt.Fprintln(s.Out)
		}
		fmt.Fprintf(s.Out, "%s: %s, plugin %s\n", of.Name, of.Path, of.Plugin)
		rows := make([][]string, len(of.Parameters))
		for j, p := range of.Parameters {
			required := ""
			if p.Required {
				required = "yes"
			}
			rows[j] = []string{p.Name, p.CollectionType, required, defaultOf(p), p.Title}
		}
		if err := table(s.Out, []string{"PARAMETER", "TYPE", "REQUIRED", "DEFAULT", "TITLE"}, rows); err != nil {
			return err
		}
	}
	return nil
}

// defaultOf is the value that a parameter has if nobody sets it.
func defaultOf(p plugin.Announcement) string {
	switch p.CollectionType {
	case "array":
		return strings.Join(p.Array, ", ")
	case "map":
		pairs := make([]string, 0, len(p.Map))
		for _, key := range slices.Sorted(maps.Keys(p.Map)) {
			pairs = append(pairs, key+"="+p.Map[key])
		}
		return strings.Join(pairs, ", ")
	default:
		return p.String
	}
}
