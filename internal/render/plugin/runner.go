// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/trace"
	"github.com/wavetrain/wavetrain/internal/render/unstable"
	"github.com/wavetrain/wavetrain/internal/render/worker"
)

// Tool is how Application.status.sourceType names what a plugin rendered.
const Tool = "Plugin"

// Runner renders with plugins.
type Runner struct {
	Plugins []Plugin
	// Path is where plugins find programs.
	Path string
	// Limits of one command.
	Limits worker.Limits
	// Command, before a plugin's own command, limits its processor time and then
	// becomes that command.
	Command []string
}

// Variant identifies the plugins, for those who keep renderings.
func (r *Runner) Variant() string { return trace.Digest(r.Plugins) }

// Around returns a function that renders with plugins where one is asked for or
// recognises the source, and with next elsewhere.
func (r *Runner) Around(next render.Func) render.Func {
	return func(ctx context.Context, src render.Source, target render.Target) (render.Result, error) {
		src, err := render.Effective(src, target.AppName)
		if err != nil {
			return render.Result{}, err
		}
		p, err := r.choose(ctx, src, target)
		if err != nil {
			return render.Result{}, fmt.Errorf("source %s: %w", src.Path, err)
		}
		if p == nil {
			return next(ctx, src, target)
		}
		result, err := r.render(ctx, *p, src, target)
		if limit, ok := errors.AsType[*worker.LimitError](err); ok {
			return result, &worker.LimitError{App: target.AppName, Path: src.Path, Limit: limit.Limit, Max: limit.Max}
		}
		if err != nil {
			return result, fmt.Errorf("source %s: plugin %s: %w", src.Path, p.Name(), err)
		}
		return result, nil
	}
}

// choose returns the plugin that renders a source: the one it names, or the first
// that recognises it; nil if it is for none.
func (r *Runner) choose(ctx context.Context, src render.Source, target render.Target) (*Plugin, error) {
	if src.Plugin == nil && (src.Helm != nil || src.Kustomize != nil || src.Directory != nil) {
		return nil, nil
	}
	if src.Plugin != nil && src.Plugin.Name != "" {
		for i := range r.Plugins {
			if r.Plugins[i].Name() == src.Plugin.Name {
				return &r.Plugins[i], nil
			}
		}
		names := make([]string, len(r.Plugins))
		for i, p := range r.Plugins {
			names[i] = p.Name()
		}
		return nil, fmt.Errorf("there is no plugin %q; the controller's --plugins has %q", src.Plugin.Name, names)
	}
	for i := range r.Plugins {
		if fits, err := r.recognises(ctx, r.Plugins[i], src, target); err != nil {
			return nil, fmt.Errorf("discovery of plugin %s: %w", r.Plugins[i].Name(), err)
		} else if fits {
			return &r.Plugins[i], nil
		}
	}
	if src.Plugin != nil {
		return nil, errors.New("no plugin recognises it: name one in plugin.name")
	}
	return nil, nil
}

// recognises tells whether a plugin is for the files of a source.
func (r *Runner) recognises(ctx context.Context, p Plugin, src render.Source, target render.Target) (bool, error) {
	d := p.Spec.Discover
	switch {
	case !p.discovers():
		return false, nil
	case d.FileName != "" || d.Find.Glob != "":
		pattern := d.FileName
		if pattern == "" {
			pattern = d.Find.Glob
		}
		dir, err := fs.Sub(src.Files, src.Path)
		if err != nil {
			return false, err
		}
		found, err := doublestar.Glob(dir, path.Clean(pattern), doublestar.WithFilesOnly())
		return len(found) > 0, err
	default:
		w, err := r.workplace(src, target, p.Spec.PreserveFileMode)
		if err != nil {
			return false, err
		}
		defer w.remove()
		// Argo CD: something on standard output means yes.
		out, err := r.run(ctx, w, d.Find.line())
		return len(bytes.TrimSpace(out)) > 0, err
	}
}

// workplace is a copy of the repository for a plugin.
type workplace struct {
	root, dir string
	env       []string
}

func (w workplace) remove() { _ = os.RemoveAll(w.root) } // a leftover in the temporary directory harms nobody

func (r *Runner) workplace(src render.Source, target render.Target, keepMode bool) (workplace, error) {
	root, err := os.MkdirTemp("", copyPrefix)
	if err != nil {
		return workplace{}, err
	}
	w := workplace{root: root, dir: filepath.Join(root, "repository", filepath.FromSlash(src.Path))}
	home := filepath.Join(root, "home")
	err = errors.Join(os.Mkdir(home, 0o700), copyTree(src, filepath.Join(root, "repository"), keepMode))
	if err == nil {
		w.env, err = environment(r.Path, home, pluginOptions(src), target)
	}
	if err != nil {
		w.remove()
		return workplace{}, err
	}
	return w, nil
}

func pluginOptions(src render.Source) v1alpha1.ApplicationSourcePlugin {
	if src.Plugin == nil {
		return v1alpha1.ApplicationSourcePlugin{}
	}
	return *src.Plugin
}

// render has the plugin generate the manifests, twice: whether a program gives the
// same for the same files cannot be told from outside.
func (r *Runner) render(ctx context.Context, p Plugin, src render.Source, target render.Target) (render.Result, error) {
	recorder := trace.NewRecorder()
	if err := record(recorder, src); err != nil {
		return render.Result{}, err
	}
	result := render.Result{Tool: Tool}
	for attempt := range 2 {
		objects, err := r.generate(ctx, p, src, target)
		if err != nil {
			return render.Result{}, err
		}
		if attempt == 0 {
			result.Objects = objects
			continue
		}
		result.Unstable.Compare(unstable.Rendering{Objects: result.Objects}, unstable.Rendering{Objects: objects}, false)
	}
	for name, value := range target.Env {
		recorder.Answered(value, trace.Variable, name)
	}
	recorder.Answered([]any{target.KubeVersion, target.APIVersions}, trace.Cluster)
	result.Digest, result.Raw = result.Unstable.Digest(result.Objects), manifest.Digest(result.Objects)
	result.Trace = recorder.Trace()
	return result, nil
}

func (r *Runner) generate(ctx context.Context, p Plugin, src render.Source, target render.Target) ([]manifest.Object, error) {
	w, err := r.workplace(src, target, p.Spec.PreserveFileMode)
	if err != nil {
		return nil, err
	}
	defer w.remove()
	if len(p.Spec.Init.Command) > 0 {
		if _, err := r.run(ctx, w, p.Spec.Init.line()); err != nil {
			return nil, fmt.Errorf("init: %w", err)
		}
	}
	out, err := r.run(ctx, w, p.Spec.Generate.line())
	if err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	objects, err := manifest.Decode(src.Path, out)
	if fault, ok := errors.AsType[*manifest.ParseError](err); ok {
		return nil, fmt.Errorf("line %d of its output: %s", fault.Line, fault.Msg)
	}
	for i := range objects {
		objects[i].Provenance.Line = 0
	}
	return objects, err
}

// run runs a command in the copy and returns what it printed.
func (r *Runner) run(ctx context.Context, w workplace, line []string) ([]byte, error) {
	out, words, err := worker.Run(ctx, worker.Program{
		Line: line, Dir: w.dir, Env: w.env, Limits: r.Limits, Before: r.Command,
	})
	if _, limited := errors.AsType[*worker.LimitError](err); err != nil && !limited && words != "" {
		return nil, fmt.Errorf("%s: %w: %s", line[0], err, strings.TrimSpace(words))
	}
	return out, err
}
