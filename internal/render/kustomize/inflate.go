// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/render/helm"
	"github.com/wavetrain/wavetrain/internal/render/trace"
	"github.com/wavetrain/wavetrain/internal/render/tree"
)

// inflate renders the charts of a kustomization with Helm's library, where the tool
// would start helm, and puts the result beside it as files. It returns their names.
// A chart that is not in the repository is fetched from the one that it names.
func (s *snapshot) inflate(ctx context.Context, in Input, dir string, k *types.Kustomization) ([]string, error) {
	if len(k.HelmCharts) == 0 {
		return nil, nil
	}
	if !in.EnableHelm {
		return nil, fmt.Errorf("%s has helmCharts, which this installation does not allow: set kustomize.buildOptions: --enable-helm in argocd-cm", dir)
	}
	// What the charts ask is not told apart.
	in.Trace.Answered([]any{in.KubeVersion, in.APIVersions}, trace.Cluster)
	home := types.HelmDefaultHome
	if k.HelmGlobals != nil && k.HelmGlobals.ChartHome != "" {
		home = k.HelmGlobals.ChartHome
	}
	var names []string
	for i, c := range k.HelmCharts {
		if err := s.inflateOne(ctx, in, dir, home, k.Namespace, i, c); err != nil {
			return nil, fmt.Errorf("%s: helmCharts: %s: %w", dir, c.Name, err)
		}
		names = append(names, inflatedName(i))
	}
	return names, nil
}

func inflatedName(i int) string { return fmt.Sprintf("wavetrain-inflated-%d.yaml", i) }

func (s *snapshot) inflateOne(ctx context.Context, in Input, dir, home, namespace string, i int, c types.HelmChart) error {
	chartDir, err := s.chartAt(ctx, in, dir, home, c)
	if err != nil {
		return err
	}
	values, err := s.inflationValues(dir, chartDir, c)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(values)
	if err != nil {
		return err
	}
	objects, _, err := helm.Render(ctx, helm.Input{
		Files: s.files, Path: chartDir, AppName: cmp.Or(c.ReleaseName, "release-name"), Namespace: cmp.Or(c.Namespace, namespace, in.rootNamespace, "default"),
		KubeVersion: in.KubeVersion, APIVersions: in.APIVersions, Expand: func(text string) string { return text },
		Options: v1alpha1.ApplicationSourceHelm{
			ValuesObject: &runtime.RawExtension{Raw: raw}, SkipCrds: !c.IncludeCRDs, SkipTests: c.SkipTests,
			KubeVersion: c.KubeVersion, APIVersions: c.ApiVersions,
		},
		Trace: trace.NewRecorder(), Witness: in.Witness,
	})
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, o := range objects {
		if _, isHook := o.GetAnnotations()["helm.sh/hook"]; isHook && c.SkipHooks {
			continue
		}
		data, err := yaml.Marshal(o.Object)
		if err != nil {
			return err
		}
		text.WriteString("---\n")
		text.Write(data)
	}
	return s.memory.WriteFile(at(path.Join(dir, inflatedName(i))), text.Bytes())
}

// chartAt finds a chart in the repository, where Kustomize would have put it.
func (s *snapshot) chartAt(ctx context.Context, in Input, dir, home string, c types.HelmChart) (string, error) {
	for _, name := range []string{c.Name, c.Name + "-" + c.Version + "/" + c.Name} {
		full, err := tree.Resolve(dir, path.Join(home, name))
		if err != nil {
			return "", err
		}
		if _, err := fs.Stat(s.files, path.Join(full, "Chart.yaml")); err == nil {
			return full, nil
		}
	}
	if c.Repo == "" || in.Elsewhere == nil {
		return "", fmt.Errorf("the chart is not in %s: vendor it there, it is not fetched from %s", path.Join(dir, home), cmp.Or(c.Repo, "anywhere"))
	}
	return s.fetch(ctx, in, Elsewhere{URL: c.Repo, Chart: c.Name, Version: c.Version})
}

// inflationValues puts the values of a chart together in the order that
// valuesMerge asks for; further files come last.
func (s *snapshot) inflationValues(dir, chart string, c types.HelmChart) (map[string]any, error) {
	file := path.Join(chart, "values.yaml")
	if c.ValuesFile != "" {
		var err error
		if file, err = tree.Resolve(dir, c.ValuesFile); err != nil {
			return nil, err
		}
	}
	values := map[string]any{}
	if _, err := fs.Stat(s.files, file); err == nil || c.ValuesFile != "" {
		if values, err = s.valuesOf(file); err != nil {
			return nil, err
		}
	}
	if len(c.ValuesInline) > 0 {
		switch c.ValuesMerge {
		case "", "override":
			values = loader.MergeMaps(values, c.ValuesInline)
		case "merge":
			values = loader.MergeMaps(c.ValuesInline, values)
		case "replace":
			values = c.ValuesInline
		default:
			return nil, fmt.Errorf("valuesMerge is %q, must be merge, override or replace", c.ValuesMerge)
		}
	}
	for _, name := range c.AdditionalValuesFiles {
		full, err := tree.Resolve(dir, name)
		if err != nil {
			return nil, err
		}
		more, err := s.valuesOf(full)
		if err != nil {
			return nil, err
		}
		values = loader.MergeMaps(values, more)
	}
	return values, nil
}

func (s *snapshot) valuesOf(file string) (map[string]any, error) {
	data, err := s.budget.Read(s.files, file)
	if err != nil {
		return nil, err
	}
	values, err := loader.LoadValues(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, oneLine(err))
	}
	return values, nil
}
