// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/report/findings"
)

// verifyArguments are the arguments of "wavetrain verify".
type verifyArguments struct {
	render wavesArguments
	output output
	failOn string
	info   bool
	test   bool
}

func newVerifyCmd(s Streams, version string) *cobra.Command {
	var a verifyArguments
	cmd := &cobra.Command{
		Use:   "verify PATH... | -",
		Short: "Find out whether the order of a rollout can work, before it runs",
		Long: `Check charts, kustomizations, directories of manifests, or Applications: whether every object
finds what it needs when its turn comes, and what else will not work.

PATH is as in "wavetrain waves". A directory whose objects are Applications stands for all of
them, and for the Applications that those bring along. Every finding has a code;
"wavetrain explain CODE" says more.

A repository adds rules of its own, CEL expressions over rendered objects, under verify.rules in
.wavetrain.yaml, with tests that --test runs, and under verify.layout which kinds may lie where.

What is known to be there from elsewhere is declared under external in .wavetrain.yaml.
Findings are left out by verify.ignore there, or on an object by the annotation
wavetrain.dev/verify-ignore: "code: reason".

Exit codes: 0 nothing of severity error, 1 errors, 2 wrong usage or an input that cannot be
rendered.`,
		Example: `  wavetrain verify charts/shop -f environments/prod.yaml
  wavetrain verify apps/
  wavetrain verify . -o sarif > wavetrain.sarif
  helm template shop charts/shop | wavetrain verify -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.render.inputs = args
			return a.run(cmd.Context(), s, version)
		},
	}
	a.render.addRenderFlags(cmd)
	a.output.addFlag(cmd, "table", "json", "markdown", "sarif", "junit")
	cmd.Flags().StringVar(&a.failOn, "fail-on", "error", "least severity that makes the command fail: error, warning, info")
	cmd.Flags().BoolVar(&a.info, "info", false, "show remarks too, which only machine formats have otherwise")
	cmd.Flags().BoolVar(&a.test, "test", false, "run the tests of the rules and references in .wavetrain.yaml instead")
	_ = cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions([]string{"error", "warning", "info"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *verifyArguments) run(ctx context.Context, s Streams, version string) error {
	if err := a.output.check(); err != nil {
		return err
	}
	if err := a.render.validate(); err != nil {
		return err
	}
	if a.test {
		return testRules(ctx, s, a.render.inputs)
	}
	severities := []string{"error", "warning", "info"}
	limit := slices.Index(severities, a.failOn)
	if limit < 0 {
		return usageError("--fail-on %q is not known: use error, warning or info", a.failOn)
	}
	collector, err := a.render.collector(s)
	if err != nil {
		return err
	}
	collector.follow = true
	if err := collector.collect(ctx); err != nil {
		return withCode(exitUsage, err)
	}
	apps, list, err := verifyAll(ctx, collector.planned, collector.strays)
	if err != nil {
		return err
	}
	if err := a.write(s, apps, list, version); err != nil {
		return err
	}
	for _, severity := range severities[:limit+1] {
		if findings.Count(list, diag.Severity(severity)) > 0 {
			return withCode(exitFailed, nil)
		}
	}
	return nil
}

func (a *verifyArguments) write(s Streams, apps []string, list []findings.Finding, version string) error {
	var text []byte
	var err error
	switch a.output.format {
	case "json":
		if list == nil {
			list = []findings.Finding{}
		}
		_, err = a.output.structured(s.Out, map[string]any{"findings": list})
		return err
	case "sarif":
		text, err = findings.SARIF(list, version)
		text = append(text, '\n')
	case "junit":
		text, err = findings.JUnit(apps, list)
	case "markdown":
		text = []byte(findings.Markdown(a.shown(list), findings.Summary(list)))
	default:
		text = []byte(findings.Text(a.shown(list)) + findings.Summary(list))
		if len(a.shown(list)) < len(list) {
			text = append(text, " (--info shows the remarks)"...)
		}
		text = append(text, '\n')
	}
	if err != nil {
		return err
	}
	_, err = s.Out.Write(text)
	return err
}

// shown leaves remarks out of what people read, unless they ask for them.
func (a *verifyArguments) shown(list []findings.Finding) []findings.Finding {
	if a.info {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(f findings.Finding) bool { return f.Severity == diag.Info })
}
