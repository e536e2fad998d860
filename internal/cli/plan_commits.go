// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/report/change"
	"github.com/wavetrain/wavetrain/internal/report/findings"
)

// betweenCommits works out what it takes from one revision to another.
func (a *planArguments) betweenCommits(ctx context.Context, s Streams) (apps []*change.App, unchanged int, err error) {
	trees, err := os.MkdirTemp("", "wavetrain-plan-")
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = os.RemoveAll(trees) }()
	shared := newRenderings()
	base, err := a.collect(ctx, s, shared, filepath.Join(trees, "base"), a.base)
	if err != nil {
		return nil, 0, err
	}
	head, err := a.collect(ctx, s, shared, filepath.Join(trees, "head"), a.head)
	if err != nil {
		return nil, 0, err
	}
	for _, stray := range head.strays {
		fmt.Fprintf(s.Err, "Application %s is not planned: its source %s is not this repository\n", stray.written.GetName(), stray.source)
	}
	keepChance(base.planned, head.planned)
	before, err := sidesOf(base.planned)
	if err != nil {
		return nil, 0, err
	}
	after, err := sidesOf(head.planned)
	if err != nil {
		return nil, 0, err
	}
	apps, unchanged = compareSides(before, after)
	return apps, unchanged, checkChanged(ctx, apps, head.planned)
}

func compareSides(base, head map[string]*change.Side) (apps []*change.App, unchanged int) {
	names := slices.Collect(maps.Keys(head))
	for name := range base {
		if head[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if app := change.Compare(name, base[name], head[name]); app != nil {
			apps = append(apps, app)
		} else {
			unchanged++
		}
	}
	return apps, unchanged
}

// checkChanged runs the checks of verify on the applications that change: on their
// steps as they are from base to head, among all that are rendered.
func checkChanged(ctx context.Context, apps []*change.App, services []planned) error {
	if len(apps) == 0 {
		return nil
	}
	byName := map[string]*change.App{}
	for _, app := range apps {
		byName[app.Name] = app
	}
	for i := range services {
		if app := byName[services[i].plan.App]; app != nil {
			services[i].plan, services[i].base = app.Plan, app.Base
		}
	}
	_, list, err := verifyAll(ctx, services, nil)
	if err != nil {
		return err
	}
	for _, f := range list {
		if app := byName[f.App]; app != nil && app.What != change.Gone {
			app.Findings = append(app.Findings, f)
		}
	}
	for _, app := range apps {
		if app.Findings == nil {
			app.Findings = []findings.Finding{}
		}
	}
	return nil
}

// collect renders everything as it is at a revision, empty for the work tree. The
// files of a revision are written to tree, and stay there.
func (a *planArguments) collect(ctx context.Context, s Streams, shared *renderings, tree, revision string) (*wavesCollector, error) {
	arguments := a.render
	if revision != "" {
		if err := os.MkdirAll(tree, 0o700); err != nil {
			return nil, err
		}
		var err error
		if arguments.inputs, err = checkOut(ctx, s, tree, revision, a.render.inputs); err != nil {
			return nil, err
		}
	}
	collector, err := arguments.collector(s)
	if err != nil {
		return nil, err
	}
	shared.by = collector.renderings.by
	collector.follow, collector.renderings = true, shared
	if err := collector.collect(ctx); err != nil {
		if revision != "" {
			err = fmt.Errorf("at %s: %w", revision, err)
		}
		return nil, err
	}
	return collector, nil
}

// sidesOf are applications by name, as they are compared.
func sidesOf(services []planned) (map[string]*change.Side, error) {
	sides := map[string]*change.Side{}
	for _, p := range services {
		external, _, err := p.repo.outside()
		if err != nil {
			return nil, err
		}
		side := &change.Side{Namespace: p.plan.Namespace, Server: p.plan.Server, Objects: p.objects, External: external}
		if p.app != nil {
			application, err := influential(p.app)
			if err != nil {
				return nil, err
			}
			side.Application = application
			side.Options = pipeline.PlanOptions(p.app, p.app.Spec.SyncOptionList())
		}
		sides[p.plan.App] = side
	}
	return sides, nil
}

// influential is an Application without what another revision of the same source
// stands for and what is only for people.
func influential(app *v1alpha1.Application) (*unstructured.Unstructured, error) {
	app = app.DeepCopy()
	app.Spec.Info, app.Status, app.Operation = nil, v1alpha1.ApplicationStatus{}, nil
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(app)
	if err != nil {
		return nil, fmt.Errorf("application %s: %w", app.Name, err)
	}
	delete(content, "status")
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(v1alpha1.GroupVersion().WithKind("Application"))
	return u, nil
}

// checkOut writes the files of a revision to a directory and returns where the
// inputs are there. An input that is not there yet is left out.
func checkOut(ctx context.Context, s Streams, tree, revision string, inputs []string) ([]string, error) {
	var there []string
	done := map[string]bool{}
	for _, in := range inputs {
		abs, err := filepath.Abs(in)
		if err != nil {
			return nil, err
		}
		top, err := s.git(ctx, existing(abs), nil, "rev-parse", "--show-toplevel")
		if err != nil {
			return nil, fmt.Errorf("%s is not in a Git work tree: %w", in, err)
		}
		if !done[top] {
			done[top] = true
			index := "GIT_INDEX_FILE=" + filepath.Join(tree, "index")
			if err := os.MkdirAll(filepath.Join(tree, "files", ".git"), 0o700); err != nil {
				return nil, err
			}
			if _, err := s.git(ctx, top, []string{index}, "--work-tree="+filepath.Join(tree, "files"), "checkout", "--quiet", revision, "--", "."); err != nil {
				return nil, fmt.Errorf("read revision %s: %w", revision, err)
			}
		}
		if abs, err = resolved(abs); err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(top, abs)
		if err != nil {
			return nil, err
		}
		at := filepath.Join(tree, "files", rel)
		if _, err := os.Stat(at); err == nil {
			there = append(there, at)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return there, nil
}

// resolved follows symbolic links of the part of a path that exists.
func resolved(path string) (string, error) {
	at := existing(path)
	target, err := filepath.EvalSymlinks(at)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(at, path)
	return filepath.Join(target, rel), err
}

// existing is the nearest directory of a path that exists.
func existing(path string) string {
	for {
		if info, err := os.Stat(path); err == nil && info.IsDir() || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// git runs git in a directory and returns what it prints.
func (s Streams) git(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, append(s.gitEnv(), env...)
	var out, fault bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &fault
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git: %s", strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(fault.String(), "fatal: "), "error: ")))
	}
	return strings.TrimSpace(out.String()), nil
}
