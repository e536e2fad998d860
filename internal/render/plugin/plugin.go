// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package plugin renders sources with commands that the operator of an
// installation has put beside the controller: Argo CD's config management plugins,
// with the files, discovery, parameters and environment that they know.
//
// A plugin is the operator's program and does what it likes; what it works on is
// not. It gets a copy of the repository in a directory of its own, none of the
// controller's environment, and the limits on time, memory and output of a render
// worker.
package plugin

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/internal/render"
)

// Kind is the kind of the file that describes a plugin.
const Kind = "ConfigManagementPlugin"

// Command is a program with its arguments.
type Command struct {
	Command []string `json:"command"`
	Args    []string `json:"args"`
}

func (c Command) line() []string { return append(slices.Clone(c.Command), c.Args...) }

// Plugin is one plugin.
type Plugin struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version  string  `json:"version"`
		Init     Command `json:"init"`
		Generate Command `json:"generate"`
		Discover struct {
			FileName string `json:"fileName"`
			Find     struct {
				Command
				Glob string `json:"glob"`
			} `json:"find"`
		} `json:"discover"`
		Parameters struct {
			Static  []Announcement `json:"static"`
			Dynamic Command        `json:"dynamic"`
		} `json:"parameters"`
		PreserveFileMode bool `json:"preserveFileMode"`
	} `json:"spec"`
}

// Announcement describes a parameter that a plugin takes.
type Announcement struct {
	Name           string            `json:"name"`
	Title          string            `json:"title,omitempty"`
	Tooltip        string            `json:"tooltip,omitempty"`
	Required       bool              `json:"required,omitempty"`
	ItemType       string            `json:"itemType,omitempty"`
	CollectionType string            `json:"collectionType,omitempty"`
	String         string            `json:"string,omitempty"`
	Array          []string          `json:"array,omitempty"`
	Map            map[string]string `json:"map,omitempty"`
}

// Name is how Applications name the plugin: with its version if it has one.
func (p Plugin) Name() string {
	if p.Spec.Version == "" {
		return p.Metadata.Name
	}
	return p.Metadata.Name + "-" + p.Spec.Version
}

func (p Plugin) discovers() bool {
	d := p.Spec.Discover
	return d.FileName != "" || d.Find.Glob != "" || len(d.Find.Command.Command) > 0
}

// Load reads the plugins of a directory: the files in it, and plugin.yaml of the
// directories in it, by name.
func Load(dir string) ([]Plugin, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read plugins: %w", err)
	}
	var plugins []Plugin
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			file = filepath.Join(file, "plugin.yaml")
			if _, err := os.Stat(file); err != nil {
				continue
			}
		} else if ext := filepath.Ext(file); ext != ".yaml" && ext != ".yml" {
			continue
		}
		p, err := read(file)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(plugins, func(q Plugin) bool { return q.Name() == p.Name() }) {
			return nil, fmt.Errorf("%s: there are two plugins %s", file, p.Name())
		}
		plugins = append(plugins, p)
	}
	return plugins, nil
}

func read(file string) (Plugin, error) {
	var p struct {
		Kind string `json:"kind"`
		Plugin
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return Plugin{}, err
	}
	if err := yaml.Unmarshal(data, &p); err != nil {
		return Plugin{}, fmt.Errorf("%s: %s", file, strings.Join(strings.Fields(err.Error()), " "))
	}
	switch {
	case p.Kind != Kind:
		return Plugin{}, fmt.Errorf("%s: kind is %q, must be %s", file, p.Kind, Kind)
	case p.Metadata.Name == "":
		return Plugin{}, fmt.Errorf("%s: metadata.name is missing", file)
	case len(p.Spec.Generate.Command) == 0:
		return Plugin{}, fmt.Errorf("%s: spec.generate.command is missing", file)
	}
	return p.Plugin, nil
}

// copyTree writes what matters of a tree to a directory. Links have become what they
// lead to.
func copyTree(src render.Source, dir string, keepMode bool) error {
	files, s := src.Files, newScope(src)
	entries, total := 0, int64(0)
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && (!s.leads(name) || strings.HasPrefix(d.Name(), copyPrefix)):
			return fs.SkipDir
		case !d.IsDir() && !s.has(name):
			return nil
		}
		if entries++; entries > maxEntries {
			return fmt.Errorf("the repository has more than %d files, too many for a plugin", maxEntries)
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		switch {
		case d.IsDir():
			return os.MkdirAll(to, 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if total += int64(len(data)); total > maxBytes {
			return fmt.Errorf("the repository is larger than %d MiB, too much for a plugin", maxBytes>>20)
		}
		mode := fs.FileMode(0o600)
		if info, err := d.Info(); keepMode && err == nil {
			mode |= info.Mode() & 0o100
		}
		return os.WriteFile(to, data, mode)
	})
}

// copyPrefix begins the names of copies: the temporary directory may lie in the work
// tree that is copied.
const copyPrefix = "wavetrain-plugin-"

// Bounds of the copy that a plugin works on.
const (
	maxEntries = 100_000
	maxBytes   = 512 << 20
)
