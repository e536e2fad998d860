// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/helm"
)

// renderArguments are the flags of "wavetrain render".
type renderArguments struct {
	wavesArguments
	showSource    bool
	explainValues bool
	announced     bool
}

func newRenderCmd(s Streams) *cobra.Command {
	var a renderArguments
	cmd := &cobra.Command{
		Use:   "render PATH...",
		Short: "Print the manifests that a source renders to",
		Long: `Print the manifests that a chart, a kustomization, a directory or the sources of Applications
render to: those of "helm template --include-crds" and "kustomize build".

PATH is what it is for "wavetrain waves". Charts that look something up in the cluster are told
that there is nothing.

With --explain-values it says for every value of a chart which file has set it, over which
others, and which value files do not exist.

With --plugins, sources of config management plugins are rendered as the controller would, by
their programs, with your rights; --plugin-parameters says what parameters a plugin takes.

Exit codes: 0 done, 1 a source cannot be rendered, 2 usage.`,
		Example: `  wavetrain render charts/shop -f environments/prod.yaml
  wavetrain render apps/shop.yaml --show-source
  wavetrain render apps/shop.yaml --explain-values`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.inputs = args
			return a.run(cmd.Context(), s)
		},
	}
	a.addRenderFlags(cmd)
	a.output.addFlag(cmd, "yaml", "json")
	cmd.Flags().BoolVar(&a.showSource, "show-source", false, "write above every manifest which file it comes from")
	cmd.Flags().BoolVar(&a.explainValues, "explain-values", false, "say where the values come from instead")
	cmd.Flags().BoolVar(&a.announced, "plugin-parameters", false, "say what parameters the plugin takes instead")
	return cmd
}

func (a *renderArguments) run(ctx context.Context, s Streams) error {
	if err := a.validate(); err != nil {
		return err
	}
	if a.showSource && a.output.format == "json" {
		return usageError("--show-source writes comments, which JSON does not have")
	}
	if a.announced && (a.plugins.dir == "" || a.explainValues) {
		return usageError("--plugin-parameters goes with --plugins, and without --explain-values")
	}
	collector, err := a.collector(s)
	if err != nil {
		return err
	}
	switch {
	case a.explainValues:
		return a.explain(ctx, s, collector)
	case a.announced:
		return a.announce(ctx, s, collector)
	}
	if err := collector.collect(ctx); err != nil {
		return err
	}
	for _, w := range collector.warnings {
		word := "warning"
		if w.Severity == diag.Info {
			word = "note"
		}
		fmt.Fprintf(s.Err, "%s: %s\n", word, w.Message)
	}
	var objects []manifest.Object
	for _, service := range collector.planned {
		objects = append(objects, service.objects...)
	}
	if len(objects) == 0 {
		fmt.Fprintf(s.Err, "note: nothing is rendered from %s\n", strings.Join(a.inputs, ", "))
	}
	return a.print(s, objects)
}

// print writes the manifests one after the other.
func (a *renderArguments) print(s Streams, objects []manifest.Object) error {
	if a.output.format == "json" {
		items := make([]any, len(objects))
		for i, o := range objects {
			items[i] = o.Object
		}
		_, err := a.output.structured(s.Out, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
		return err
	}
	for _, o := range objects {
		data, err := yaml.Marshal(o.Object)
		if err != nil {
			return fmt.Errorf("write %s: %w", o.Key().Short(), err)
		}
		fmt.Fprintln(s.Out, "---")
		if a.showSource {
			fmt.Fprintln(s.Out, "# Source: "+placeOf(o.Provenance))
		}
		if _, err := s.Out.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// placeOf names the place that an object was written at.
func placeOf(p manifest.Provenance) string {
	place := p.File
	if p.Line > 0 {
		place = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	if p.Chart != "" {
		place += " (chart " + p.Chart + ")"
	}
	return place
}

// explained is the explanation of one chart.
type explained struct {
	Name  string `json:"name"`
	Chart string `json:"chart"`
	helm.Explanation
}

func (a *renderArguments) explain(ctx context.Context, s Streams, collector *wavesCollector) error {
	list := []explained{}
	collector.instead = func(ctx context.Context, src render.Source, target render.Target) error {
		e, err := render.ExplainValues(ctx, src, target)
		list = append(list, explained{Name: target.AppName, Chart: src.Path, Explanation: e})
		return err
	}
	if err := collector.collect(ctx); err != nil {
		return err
	}
	if done, err := a.output.structured(s.Out, list); done {
		return err
	}
	for i, e := range list {
		if i > 0 {
			fmt.Fprintln(s.Out)
		}
		fmt.Fprintf(s.Out, "%s: chart %s\n", e.Name, e.Chart)
		for _, name := range e.Dropped {
			fmt.Fprintf(s.Out, "not there: %s\n", name)
		}
		rows := make([][]string, len(e.Keys))
		for j, k := range e.Keys {
			rows[j] = []string{k.Key, shownValue(k), k.From, strings.Join(k.Over, ", ")}
		}
		if err := table(s.Out, []string{"KEY", "VALUE", "SET BY", "OVER"}, rows); err != nil {
			return err
		}
	}
	return nil
}

// maxShown bounds how much of a value a table shows.
const maxShown = 60

func shownValue(k helm.ExplainedKey) string {
	if k.Removed {
		return "(removed)"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(k.Value); err != nil {
		return fmt.Sprint(k.Value)
	}
	text := []rune(strings.TrimSpace(b.String()))
	if len(text) > maxShown {
		return string(text[:maxShown-1]) + "…"
	}
	return string(text)
}
