// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/pipeline"
)

// diffArguments are the arguments of "wavetrain diff".
type diffArguments struct {
	render wavesArguments
	output diffOutput
}

func newDiffCmd(s Streams) *cobra.Command {
	k := newKube(s)
	var a diffArguments
	cmd := &cobra.Command{
		Use:   "diff PATH... | -",
		Short: "Show what applying local files would change on a cluster",
		Long: `Show what applying local files would change on a cluster. Nothing is changed, no controller
is needed. Values of Secrets are hidden.

PATH is as in "wavetrain waves". Files with Applications stand for what their sources render;
their sync options and ignoreDifferences are obeyed, and objects of theirs that are no longer
rendered are differences. "wavetrain app diff" compares as the controller does, with its
settings and projects.

-o fields prints a line per field with the manager that owns it. If KUBECTL_EXTERNAL_DIFF is
set and no format is asked for, that program shows the differences.

Exit codes: 0 no difference, 1 differences, 2 wrong usage or no comparison possible.
--exit-code=false exits with 0 on differences, --diff-exit-code N with N.`,
		Example: `  wavetrain diff charts/shop -f environments/prod.yaml -n shop
  wavetrain diff apps/frontend.yaml
  helm template shop charts/shop | wavetrain diff - -o fields
  KUBECTL_EXTERNAL_DIFF="dyff between" wavetrain diff manifests/`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.render.inputs = args
			if err := a.output.check(); err != nil {
				return err
			}
			differences, err := a.compare(cmd.Context(), s, k)
			if err != nil {
				return withCode(exitDiffFailed, err)
			}
			return a.output.show(cmd.Context(), s, differences)
		},
	}
	k.addClusterFlags(cmd.Flags())
	a.render.addRenderFlags(cmd)
	a.output.addFlags(cmd)
	return cmd
}

// compare renders the inputs for the cluster and compares them with it.
func (a *diffArguments) compare(ctx context.Context, s Streams, k *kube) ([]difference, error) {
	if err := a.render.validate(); err != nil {
		return nil, err
	}
	cfg, err := k.restConfig()
	if err != nil {
		return nil, err
	}
	dest, err := cluster.New(cfg, cluster.Options{})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = dest.Start(ctx)
	}()
	defer func() {
		stop()
		<-ended
	}()
	version, apis, err := dest.Version(ctx)
	if err != nil {
		return nil, err
	}
	if a.render.kubeVersion == "" {
		a.render.kubeVersion, a.render.apiVersions = version, append(a.render.apiVersions, apis...)
	}
	collector, err := a.render.collector(s)
	if err != nil {
		return nil, err
	}
	if err := collector.collect(ctx); err != nil {
		return nil, err
	}
	for _, w := range collector.warnings {
		if w.Severity != diag.Info {
			fmt.Fprintf(s.Err, "warning: %s\n", w.Message)
		}
	}
	var list []difference
	for _, service := range collector.planned {
		found, err := diffService(ctx, dest, service)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// diffService compares what one input renders.
func diffService(ctx context.Context, dest *cluster.Cluster, service planned) ([]difference, error) {
	subject := pipeline.Subject{
		Server: dest.Server(), Namespace: service.plan.Namespace, Desired: pipeline.NewDesired(nil, service.objects),
	}
	if app := service.app; app != nil {
		var options []string
		if policy := app.Spec.SyncPolicy; policy != nil {
			options = policy.SyncOptions
			if m := policy.ManagedNamespaceMetadata; m != nil {
				subject.Options.NamespaceLabels, subject.Options.NamespaceAnnotations = m.Labels, m.Annotations
			}
		}
		set := manifest.ParseOptions(options...)
		subject.App, subject.Write, subject.Ignore = service.plan.App, cluster.PolicyOf(set), app.Spec.IgnoreDifferences
		subject.Options.CreateNamespace = set.Has("CreateNamespace=true")
	}
	comparison, err := pipeline.NewComparer().Compare(ctx, dest, subject)
	if err != nil {
		return nil, err
	}
	return differencesOf(comparison, func(desired *unstructured.Unstructured) (live, predicted *unstructured.Unstructured, err error) {
		return comparison.Sides(ctx, dest, desired)
	})
}
