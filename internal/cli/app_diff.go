// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/source"
)

func newAppDiffCmd(s Streams) *cobra.Command {
	k := newKube(s)
	var out diffOutput
	var from diffSources
	var plugins pluginFlags
	cmd := &cobra.Command{
		Use:   "diff NAME",
		Short: "Show what a sync would change",
		Long: `Show what a sync would change: the Application's sources are fetched and rendered on this
machine, and compared with the cluster as the controller compares them. Nothing is changed.
Values of Secrets are hidden.

Objects that are missing on the cluster and objects that are no longer in the sources are
differences as well.

--local reads a source from a directory of this machine, the one that its path names in the
repository. Of an Application with several sources, give --local once per source, or
--local-source N=DIR for some of them; the others are fetched.

A source of a config management plugin needs --plugins, the directory that the controller has.

-o fields prints a line per field with the manager that owns it. If KUBECTL_EXTERNAL_DIFF is
set and no format is asked for, that program shows the differences.

Exit codes: 0 no difference, 1 differences, 2 wrong usage or no comparison possible.
--exit-code=false exits with 0 on differences, --diff-exit-code N with N.`,
		Example: `  wavetrain app diff frontend
  wavetrain app diff frontend --revision v1.4.0
  wavetrain app diff frontend --local charts/frontend
  wavetrain app diff shop --local-source 2=../settings
  wavetrain app diff frontend -o json --exit-code=false`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeApps(k),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			c, err := k.client()
			if err != nil {
				return withCode(exitDiffFailed, err)
			}
			differences, err := diffApp(cmd.Context(), s, k, c, args[0], from, plugins)
			if err != nil {
				return withCode(exitDiffFailed, err)
			}
			return out.show(cmd.Context(), s, differences)
		},
	}
	k.addAppFlags(cmd.Flags())
	out.addFlags(cmd)
	from.addFlags(cmd)
	plugins.addFlag(cmd.Flags())
	return cmd
}

// diffApp compares one Application.
func diffApp(ctx context.Context, s Streams, k *kube, c client.Client, name string, from diffSources, plugins pluginFlags) ([]difference, error) {
	key, err := k.app(name)
	if err != nil {
		return nil, err
	}
	app, err := getApp(ctx, c, key)
	if err != nil {
		return nil, err
	}
	if err := from.setRevisions(app); err != nil {
		return nil, err
	}
	local, err := from.open(app)
	if err != nil {
		return nil, err
	}
	cfg, err := k.restConfig()
	if err != nil {
		return nil, err
	}
	rendering, err := plugins.rendering(s)
	if err != nil {
		return nil, err
	}
	rendering.Local = local
	mirrors, err := os.MkdirTemp("", "wavetrain-diff-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(mirrors) }()
	store, err := source.NewStore(source.Options{Dir: mirrors, Env: s.gitEnv()})
	if err != nil {
		return nil, err
	}
	preview, err := controller.NewPreview(ctx, controller.Options{
		Config: cfg, Namespace: k.namespace, Sources: store, Rendering: rendering,
	}, c, app)
	if err != nil {
		return nil, fmt.Errorf("compare application %q: %w", name, err)
	}
	defer preview.Close()
	return differencesOf(preview.Comparison, func(desired *unstructured.Unstructured) (live, predicted *unstructured.Unstructured, err error) {
		return preview.Sides(ctx, desired)
	})
}

// differencesOf lists the objects that are not in sync, in the order in which a
// sync would get to them, and then those that it would delete. Sides returns an
// object as it is and as applying it would leave it.
func differencesOf(c *pipeline.Comparison, sides func(*unstructured.Unstructured) (live, predicted *unstructured.Unstructured, err error)) ([]difference, error) {
	var list []difference
	for _, step := range ordinarySteps(c.Plan) {
		verdict, ok := c.Verdicts[step.Key]
		if !ok || verdict.InSync() {
			continue
		}
		desired := step.Object.Unstructured
		d := difference{Key: step.Key, Action: willUpdate, Changes: verdict.Changes, Reason: verdict.Rejected, live: verdict.Live, predicted: desired}
		switch {
		case verdict.Rejected != "":
			d.Action = willFail
		case verdict.Live == nil:
			d.Action, d.Changes = willCreate, diff.Compare(desired, nil, nil, diff.Options{})
		default:
			var err error
			if d.live, d.predicted, err = sides(desired); err != nil {
				return nil, fmt.Errorf("ask what applying %s would do: %w", step.Key.Short(), err)
			}
		}
		list = append(list, d)
	}
	for _, candidate := range c.Superfluous {
		list = append(list, difference{
			Key: candidate.Key, Action: willDelete, Reason: candidate.Keep,
			Changes: diff.Compare(nil, candidate.Object, nil, diff.Options{}), live: candidate.Object,
		})
	}
	return list, nil
}

// ordinarySteps are the steps of a plan on objects that a sync keeps: no hooks,
// no deletions.
func ordinarySteps(p *plan.Plan) []plan.Step {
	var steps []plan.Step
	for _, g := range p.Groups {
		steps = append(steps, g.Steps...)
	}
	return slices.DeleteFunc(append(steps, p.InSync...), func(step plan.Step) bool {
		return !slices.Contains([]plan.Action{plan.Create, plan.Update, plan.None}, step.Action)
	})
}
