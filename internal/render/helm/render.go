// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render/trace"
)

// DefaultKubeVersion is what charts see when nobody names a version: that of
// the Kubernetes libraries this program is built with.
const DefaultKubeVersion = "v1.37.2"

// Input is a chart and everything its rendering depends on.
type Input struct {
	// Files is the repository's tree, Path the chart's directory in it.
	Files fs.FS
	Path  string
	// Refs are the trees that value files may name as "$ref/path".
	Refs map[string]fs.FS
	// Options of the source.
	Options v1alpha1.ApplicationSourceHelm
	// AppName is the release's name if the options have none.
	AppName   string
	Namespace string
	// KubeVersion and APIVersions of the destination cluster; the options win.
	KubeVersion string
	APIVersions []string
	// Expand substitutes build variables in a text.
	Expand func(string) string
	// Lookup answers the template function of this name; nil answers that there is
	// nothing.
	Lookup func(context.Context, Lookup) (map[string]any, error)
	// Fetch reads value files from other hosts; nil refuses them.
	Fetch func(ctx context.Context, url string) ([]byte, error)
	// Trace records what is asked besides files.
	Trace *trace.Recorder
	// Witness notes what makes the result another one each time.
	Witness *Witness
}

// Render renders the chart. Warnings tell what Helm would pass over in silence.
func Render(ctx context.Context, in Input) ([]manifest.Object, []diag.Diagnostic, error) {
	c, err := load(in.Files, in.Path)
	if err != nil {
		return nil, nil, fmt.Errorf("chart %s: %w", in.Path, err)
	}
	objects, warnings, err := c.render(ctx, in)
	if err != nil {
		return nil, nil, fmt.Errorf("chart %s: %w", in.Path, err)
	}
	return objects, warnings, nil
}

func (c *loaded) render(ctx context.Context, in Input) ([]manifest.Object, []diag.Diagnostic, error) {
	given, err := mergeValues(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	values := given.values
	if err := checkInstallable(c.chart); err != nil {
		return nil, nil, err
	}
	release := in.release()
	if err := chartutil.ValidateReleaseName(release); err != nil {
		return nil, nil, fmt.Errorf("release name %q: %w", release, err)
	}
	if err := chartutil.ProcessDependencies(c.chart, values); err != nil {
		return nil, nil, fmt.Errorf("dependencies: %w", err)
	}
	capabilities, err := capabilitiesFor(in)
	if err != nil {
		return nil, nil, err
	}
	identity, err := IdentityOf(in)
	if err != nil {
		return nil, nil, err
	}
	in.Trace.Answered(identity, trace.Release)
	if want := c.chart.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, capabilities.KubeVersion.String()) {
		return nil, nil, fmt.Errorf("needs Kubernetes %s, the destination has %s", want, capabilities.KubeVersion.Version)
	}
	warnings := append(given.remarks(), c.withoutRemoteSchemas()...)
	top, err := commonutil.ToRenderValuesWithSchemaValidation(c.chart, values, common.ReleaseOptions{
		Name: release, Namespace: in.namespace(), Revision: 1, IsInstall: true,
	}, capabilities, in.Options.SkipSchemaValidation)
	if err != nil {
		return nil, nil, oneLine(err)
	}
	top["Capabilities"] = c.observed(capabilities, values, in.Trace)
	functions := in.Witness.functions()
	functions["lookup"] = lookupFunction(ctx, in)
	e := engine.Engine{CustomTemplateFuncs: functions}
	rendered, err := e.RenderWithContext(ctx, c.chart, top)
	if err != nil {
		return nil, nil, c.templateFault(err)
	}
	in.Witness.locate(c)
	objects, more, err := c.collect(rendered, in.Options)
	return objects, append(warnings, more...), err
}

// collect decodes CRDs and rendered templates, ordered by chart and file.
func (c *loaded) collect(rendered map[string]string, options v1alpha1.ApplicationSourceHelm) ([]manifest.Object, []diag.Diagnostic, error) {
	var objects []manifest.Object
	var warnings []diag.Diagnostic
	places := c.places()
	if !options.SkipCrds {
		for _, crd := range c.chart.CRDObjects() {
			place := places[crd.Filename]
			decoded, err := manifest.Decode(place.file, crd.File.Data)
			if err != nil {
				return nil, nil, err
			}
			for i := range decoded {
				decoded[i].Provenance.Chart = place.chart
			}
			objects = append(objects, decoded...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if !isManifest(name) {
			continue
		}
		place := places[name]
		decoded, repeated, err := decodeOutput(place.file, rendered[name])
		if err != nil {
			return nil, nil, err
		}
		for _, r := range repeated {
			warnings = append(warnings, diag.Diagnostic{
				Code: "duplicate-key", Severity: diag.Warning, At: manifest.Provenance{File: r.File, Chart: place.chart},
				Message: fmt.Sprintf("%s: %s (line %d of the output); the last one counts", r.File, r.Msg, r.Line),
				Hint:    "remove one of the two keys from the template or the values",
			})
		}
		for _, o := range decoded {
			if !emitted(o, options.SkipTests) {
				continue
			}
			o.Provenance.Line = 0
			o.Provenance.Chart = place.chart
			objects = append(objects, o)
		}
	}
	return objects, warnings, nil
}

func checkInstallable(c *chart.Chart) error {
	if v := c.Metadata.APIVersion; v != chart.APIVersionV1 && v != chart.APIVersionV2 {
		return fmt.Errorf("Chart.yaml has apiVersion %s, must be v1 or v2", v)
	}
	if t := c.Metadata.Type; t != "" && t != "application" {
		return fmt.Errorf("is a %s chart, which cannot be installed on its own", t)
	}
	have := map[string]bool{}
	for _, d := range c.Dependencies() {
		have[d.Name()] = true
	}
	for _, d := range c.Metadata.Dependencies {
		if !have[d.Name] {
			return fmt.Errorf("Chart.yaml lists the dependency %s %s, which is not in charts/: run \"helm dependency build\" in the chart and commit what it fetched", d.Name, d.Version)
		}
	}
	return nil
}

// place says where a template comes from.
type place struct{ file, chart string }

// places maps the names that Helm gives templates and CRDs to their places.
// Aliases change Helm's names, not the files.
func (c *loaded) places() map[string]place {
	out := map[string]place{}
	var visit func(ch *chart.Chart, chain string)
	visit = func(ch *chart.Chart, chain string) {
		for _, list := range [][]*common.File{ch.Templates, ch.Files} {
			for _, f := range list {
				out[path.Join(ch.ChartFullPath(), f.Name)] = place{file: c.origin[f], chart: chain}
			}
		}
		for _, sub := range ch.Dependencies() {
			visit(sub, path.Join(chain, sub.Name()))
		}
	}
	visit(c.chart, c.chart.Name())
	return out
}
