// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

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
	cluster  planCluster
	out      string
	output   output
	detailed bool
	failOn   string
}

func newPlanCmd(s Streams) *cobra.Command {
	a := planArguments{base: "HEAD", cluster: planCluster{kube: newKube(s)}}
	cmd := &cobra.Command{
		Use:   "plan [PATH...]",
		Short: "Show what a commit or a sync would do, step by step",
		Long: `Show what happens to every application, in the order in which it is done: what is created,
updated, replaced, deleted or run as a hook, which fields change, which Pods are replaced, what
the rollout will wait for, and what verify finds. Values of Secrets are hidden.

Between two commits, which needs no cluster: from --base (the last commit) to --head (the work
tree). PATH is as in "wavetrain verify"; without one it is the current directory.

On a cluster: --app NAME, --selector or --all plan a sync of Applications as the controller would
carry it out now. --revision plans another revision, --local a directory of this machine. With
--live, the Applications of PATH and the files around them are compared with the cluster, whether
they are committed or not.

--out FILE keeps the plan of Applications, and "wavetrain sync --plan FILE" carries out exactly
that, or refuses and says what has changed since. No value of a Secret is in the file.

Applications to which nothing happens are counted and not shown.

Exit codes: 0 done, 1 an input cannot be rendered or compared, 2 wrong usage, 3 findings of
--fail-on. With --detailed-exitcode: 0 nothing changes, 1 an error of any kind, 2 something changes,
3 findings of --fail-on.`,
		Example: `  wavetrain plan --base origin/main
  wavetrain plan apps/ --base v1.4.0 --head v1.5.0
  wavetrain plan --base origin/main -o markdown > comment.md
  wavetrain plan --app frontend --revision v1.5.0 --out plan.json
  wavetrain plan --selector team=shop --detailed-exitcode
  wavetrain plan --live apps/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := a.run(cmd.Context(), s, args, cmd.Flags().Changed)
			if e, ok := errors.AsType[*exitError](err); a.detailed && ok && e.misused() {
				return withCode(exitFailed, err)
			}
			return err
		},
	}
	a.render.addRenderFlags(cmd)
	f := cmd.Flags()
	f.Lookup("namespace").Usage = `destination namespace of charts and manifests; with --app and its like the control namespace (default "argocd")`
	f.StringVar(&a.base, "base", a.base, "Git revision to begin with")
	f.StringVar(&a.head, "head", "", "Git revision to end with (default: the files as they are)")
	a.cluster.addFlags(cmd)
	f.StringVar(&a.out, "out", "", `keep the plan in this file, for "wavetrain sync --plan"`)
	f.BoolVar(&a.detailed, "detailed-exitcode", false, "exit with 2 when something changes")
	f.StringVar(&a.failOn, "fail-on", "", "exit with 3 when there are findings of this severity or worse: error, warning")
	a.output.addFlag(cmd, "text", "json", "markdown", "html")
	_ = cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions([]string{"error", "warning"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check refuses flags that do not go together.
func (a *planArguments) check(args []string, given func(string) bool) error {
	if err := a.output.check(); err != nil {
		return err
	}
	c := &a.cluster
	named := len(c.apps) > 0 || c.selector != "" || c.all
	switch {
	case !slices.Contains([]string{"", "error", "warning"}, a.failOn):
		return usageError("--fail-on %q is not known: use error or warning", a.failOn)
	case named && c.live:
		return usageError("--live plans the Applications of files, --app and its like those of the cluster: give one of them")
	case named && len(args) > 0:
		return usageError("--app and its like plan Applications as they are in the cluster: %s is not looked at; --local puts a directory in the place of a source", args[0])
	case (named || c.live) && (given("base") || given("head")):
		return usageError("--base and --head plan without a cluster; --revision is for --app")
	case a.out != "" && !named:
		return usageError("--out keeps what a sync of Applications would do: give --app, --selector or --all")
	case a.out != "" && c.from.isLocal():
		return usageError("--out: what lies in a directory of this machine cannot be synced later: give --revision instead of --local")
	case !named && c.from.given():
		return usageError("--revision and --local are for --app")
	}
	return nil
}

func (a *planArguments) run(ctx context.Context, s Streams, args []string, given func(string) bool) error {
	if err := a.check(args, given); err != nil {
		return err
	}
	if a.render.inputs = args; len(args) == 0 {
		a.render.inputs = []string{"."}
	}
	var apps []*change.App
	var unchanged int
	var keep map[string]plannedSync
	var err error
	switch c := &a.cluster; {
	case c.live:
		apps, unchanged, err = a.planFiles(ctx, s)
	case len(c.apps) > 0 || c.selector != "" || c.all:
		apps, unchanged, keep, err = a.planApps(ctx, s)
	default:
		apps, unchanged, err = a.betweenCommits(ctx, s)
	}
	if err != nil {
		return err
	}
	file := newPlanFile(apps, unchanged, keep)
	if a.out != "" {
		data, err := file.encode()
		if err != nil {
			return err
		}
		if err := os.WriteFile(a.out, data, 0o600); err != nil {
			return fmt.Errorf("keep the plan: %w", err)
		}
	}
	if err := a.write(s, file, apps, unchanged); err != nil {
		return err
	}
	return a.verdict(apps)
}

// verdict is the exit code of a plan.
func (a *planArguments) verdict(apps []*change.App) error {
	for _, app := range apps {
		if a.failOn != "" && (findings.Count(app.Findings, diag.Error) > 0 || app.Fails()) || a.failOn == "warning" && findings.Count(app.Findings, diag.Warning) > 0 {
			return withCode(exitHazards, nil)
		}
	}
	if a.detailed && len(apps) > 0 {
		return withCode(exitChanges, nil)
	}
	return nil
}

func (a *planArguments) write(s Streams, file planFile, apps []*change.App, unchanged int) error {
	var text string
	var err error
	switch a.output.format {
	case "json":
		_, err = a.output.structured(s.Out, file)
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
