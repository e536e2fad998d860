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

	"github.com/spf13/cobra"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/report/change"
	"github.com/wavetrain/wavetrain/internal/report/findings"
)

// Exit codes of `plan`, besides those of all commands.
const (
	exitChanges = 2
	exitHazards = 3
)

// planArguments are the arguments of "wavetrain plan".
type planArguments struct {
	render   wavesArguments
	base     string
	head     string
	output   output
	detailed bool
	failOn   string
}

func newPlanCmd(s Streams) *cobra.Command {
	a := planArguments{base: "HEAD"}
	cmd := &cobra.Command{
		Use:   "plan [PATH...]",
		Short: "Show what a commit would do, step by step",
		Long: `Show what the step from one Git revision to another does to every application, in the order in
which it is done: what is created, updated, deleted or run as a hook, which fields change, which
Pods are replaced, and what verify finds in the result. No cluster is needed.

PATH is as in "wavetrain verify"; without one it is the current directory. --head is the work tree
unless it is given. Applications whose objects do not change are counted and not shown. Values of
Secrets are hidden.

Exit codes: 0 done, 1 an input cannot be rendered, 2 wrong usage, or with --detailed-exitcode
something changes, 3 findings of --fail-on.`,
		Example: `  wavetrain plan --base origin/main
  wavetrain plan apps/ --base v1.4.0 --head v1.5.0
  wavetrain plan --base origin/main -o markdown > comment.md`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.render.inputs = args; len(args) == 0 {
				a.render.inputs = []string{"."}
			}
			return a.run(cmd.Context(), s)
		},
	}
	a.render.addRenderFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&a.base, "base", a.base, "Git revision to begin with")
	f.StringVar(&a.head, "head", "", "Git revision to end with (default: the files as they are)")
	f.BoolVar(&a.detailed, "detailed-exitcode", false, "exit with 2 when something changes")
	f.StringVar(&a.failOn, "fail-on", "", "exit with 3 when there are findings of this severity or worse: error, warning")
	a.output.addFlag(cmd, "text", "json", "markdown", "html")
	_ = cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions([]string{"error", "warning"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *planArguments) run(ctx context.Context, s Streams) error {
	if err := a.output.check(); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "error", "warning"}, a.failOn) {
		return usageError("--fail-on %q is not known: use error or warning", a.failOn)
	}
	base, err := a.sides(ctx, s, a.base)
	if err != nil {
		return err
	}
	head, err := a.sides(ctx, s, a.head)
	if err != nil {
		return err
	}
	apps, unchanged := compareSides(base, head)
	if err := a.write(s, apps, unchanged); err != nil {
		return err
	}
	return a.verdict(apps)
}

// verdict is the exit code of a plan.
func (a *planArguments) verdict(apps []*change.App) error {
	for _, app := range apps {
		if a.failOn != "" && findings.Count(app.Findings, diag.Error) > 0 || a.failOn == "warning" && findings.Count(app.Findings, diag.Warning) > 0 {
			return withCode(exitHazards, nil)
		}
	}
	if a.detailed && len(apps) > 0 {
		return withCode(exitChanges, nil)
	}
	return nil
}

func (a *planArguments) write(s Streams, apps []*change.App, unchanged int) error {
	var text string
	var err error
	switch a.output.format {
	case "json":
		if apps == nil {
			apps = []*change.App{}
		}
		_, err = a.output.structured(s.Out, map[string]any{"apps": apps, "unchanged": unchanged})
		return err
	case "markdown":
		text = change.Markdown(apps, unchanged)
	case "html":
		text, err = change.HTML(apps, unchanged)
	default:
		text = change.Text(apps, unchanged)
	}
	if err != nil {
		return err
	}
	_, err = s.Out.Write([]byte(text))
	return err
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

// sides renders everything as it is at a revision, empty for the work tree.
func (a *planArguments) sides(ctx context.Context, s Streams, revision string) (map[string]*change.Side, error) {
	arguments := a.render
	if revision != "" {
		tree, err := os.MkdirTemp("", "wavetrain-plan-")
		if err != nil {
			return nil, err
		}
		defer func() { _ = os.RemoveAll(tree) }()
		if arguments.inputs, err = checkOut(ctx, s, tree, revision, a.render.inputs); err != nil {
			return nil, err
		}
	}
	collector := newWavesCollector(arguments, s.In)
	collector.follow = true
	if err := collector.collect(ctx); err != nil {
		if revision != "" {
			err = fmt.Errorf("at %s: %w", revision, err)
		}
		return nil, err
	}
	sides := map[string]*change.Side{}
	for _, p := range collector.planned {
		sides[p.plan.App] = &change.Side{Namespace: p.plan.Namespace, Server: p.plan.Server, Objects: p.objects}
	}
	return sides, nil
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
