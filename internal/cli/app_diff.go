// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/source"
)

// exitDiffFailed is the exit code of a diff that could not be made: 1 says that
// there are differences.
const exitDiffFailed = 2

func newAppDiffCmd(s Streams) *cobra.Command {
	k := newKube(s)
	var out output
	var revision string
	exitCode := true
	cmd := &cobra.Command{
		Use:   "diff NAME",
		Short: "Show what a sync would change",
		Long: `Show what a sync would change: the Application's sources are fetched and rendered on this
machine, and compared with the cluster as the controller compares them, by a dry run of the
API server. Nothing is changed. Values of Secrets are hidden.

Objects that are missing on the cluster and objects that are no longer in the sources are
differences as well.

Exit codes: 0 no difference, 1 differences, 2 wrong usage or no comparison possible.`,
		Example: `  wavetrain app diff frontend
  wavetrain app diff frontend --revision v1.4.0
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
			differences, err := diffApp(cmd.Context(), s, k, c, args[0], revision)
			if err != nil {
				return withCode(exitDiffFailed, err)
			}
			done, err := out.structured(s.Out, differences)
			if !done {
				err = printDifferences(s, differences)
			}
			if err != nil {
				return withCode(exitDiffFailed, err)
			}
			if exitCode && len(differences) > 0 {
				return withCode(exitFailed, nil)
			}
			return nil
		},
	}
	k.addAppFlags(cmd.Flags())
	out.addFlag(cmd, "json", "yaml")
	cmd.Flags().StringVar(&revision, "revision", "", "compare with this revision instead of the target revision")
	cmd.Flags().BoolVar(&exitCode, "exit-code", true, "exit with 1 when there are differences")
	return cmd
}

// What a sync would do with an object.
const (
	willCreate = "create"
	willUpdate = "update"
	willDelete = "delete"
	// willFail is an object that the API server would refuse.
	willFail = "fail"
)

// difference is one object that is not as it should be.
type difference struct {
	Key     manifest.Key  `json:"key"`
	Action  string        `json:"action"`
	Changes []diff.Change `json:"changes"`
	// Reason says why the API server would refuse the object, or why it would not
	// be deleted.
	Reason string `json:"reason,omitempty"`

	text string
}

// diffApp compares one Application.
func diffApp(ctx context.Context, s Streams, k *kube, c client.Client, name, revision string) ([]difference, error) {
	key, err := k.app(name)
	if err != nil {
		return nil, err
	}
	app, err := getApp(ctx, c, key)
	if err != nil {
		return nil, err
	}
	if revision != "" {
		setRevision(app, revision)
	}
	cfg, err := k.restConfig()
	if err != nil {
		return nil, err
	}
	mirrors, err := os.MkdirTemp("", "wavetrain-diff-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(mirrors) }()
	store, err := source.NewStore(source.Options{Dir: mirrors, Env: s.gitEnv()})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	preview, err := controller.NewPreview(ctx, controller.Options{Config: cfg, Namespace: k.namespace, Sources: store}, c, app)
	if err != nil {
		return nil, fmt.Errorf("compare application %q: %w", name, err)
	}
	defer preview.Close()
	return differencesOf(ctx, preview)
}

// setRevision puts a revision in the place of the target revision of the first
// source.
func setRevision(app *v1alpha1.Application, revision string) {
	switch {
	case len(app.Spec.Sources) > 0:
		app.Spec.Sources[0].TargetRevision = revision
	case app.Spec.Source != nil:
		app.Spec.Source.TargetRevision = revision
	}
}

// differencesOf lists the objects that are not in sync, in the order in which a
// sync would get to them, and then those that it would delete.
func differencesOf(ctx context.Context, p *controller.Preview) ([]difference, error) {
	list := []difference{}
	for _, step := range ordinarySteps(p.Plan) {
		verdict, ok := p.Verdicts[step.Key]
		if !ok || verdict.InSync() {
			continue
		}
		desired := step.Object.Unstructured
		d := difference{Key: step.Key, Action: willUpdate, Changes: verdict.Changes, Reason: verdict.Rejected}
		predicted := desired
		switch {
		case verdict.Rejected != "":
			d.Action = willFail
		case verdict.Live == nil:
			d.Action, d.Changes = willCreate, diff.Compare(desired, nil, nil, diff.Options{})
		default:
			var err error
			if predicted, err = p.Predict(ctx, desired); err != nil {
				return nil, fmt.Errorf("ask what applying %s would do: %w", step.Key.Short(), err)
			}
		}
		var err error
		if d.text, err = diff.Unified(verdict.Live, predicted); err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	for _, candidate := range p.Superfluous {
		d := difference{Key: candidate.Key, Action: willDelete, Reason: candidate.Keep, Changes: diff.Compare(nil, candidate.Object, nil, diff.Options{})}
		var err error
		if d.text, err = diff.Unified(candidate.Object, nil); err != nil {
			return nil, err
		}
		list = append(list, d)
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

// printDifferences prints a unified diff per object.
func printDifferences(s Streams, list []difference) error {
	for _, d := range list {
		fmt.Fprintf(s.Out, "===== %s: %s ======\n", title(d.Key), d.Action)
		if d.Reason != "" {
			fmt.Fprintf(s.Err, "%s: %s\n", d.Key.Short(), d.Reason)
		}
		if _, err := fmt.Fprintln(s.Out, d.text); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		fmt.Fprintln(s.Err, "no differences")
	}
	return nil
}

// title names an object as Argo CD's diff does: "apps/Deployment ns/name".
func title(key manifest.Key) string {
	name := key.Name
	if key.Namespace != "" {
		name = key.Namespace + "/" + name
	}
	return key.Group + "/" + key.Kind + " " + name
}
