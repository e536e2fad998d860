// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/render/trace"
)

// Explanation says where the values of a chart come from.
type Explanation struct {
	// Keys in lexical order.
	Keys []ExplainedKey `json:"keys"`
	// Files are the value files that were read, the weakest first, Dropped those
	// that do not exist.
	Files   []string `json:"files"`
	Dropped []string `json:"dropped"`
}

// ExplainedKey is a value with the place that set it.
type ExplainedKey struct {
	Key   string `json:"key"`
	Value any    `json:"value,omitempty"`
	// From is the place that won, Over are those that it wins over, the strongest
	// first.
	From string   `json:"from"`
	Over []string `json:"over,omitempty"`
	// Removed is true for a key that a null takes away.
	Removed bool `json:"removed,omitempty"`
}

// Explain tells, for each key that the chart's templates see, which place has set
// it.
func Explain(ctx context.Context, in Input) (Explanation, error) {
	if in.Trace == nil {
		in.Trace = trace.NewRecorder()
	}
	c, err := load(in.Files, in.Path)
	if err != nil {
		return Explanation{}, fmt.Errorf("chart %s: %w", in.Path, err)
	}
	given, err := mergeValues(ctx, in)
	if err != nil {
		return Explanation{}, fmt.Errorf("chart %s: %w", in.Path, err)
	}
	layers := slices.Concat(c.defaults(c.chart, in.Path, nil), given.layers)
	if err := chartutil.ProcessDependencies(c.chart, given.values); err != nil {
		return Explanation{}, fmt.Errorf("chart %s: dependencies: %w", in.Path, err)
	}
	values, err := commonutil.CoalesceValues(c.chart, given.values)
	if err != nil {
		return Explanation{}, fmt.Errorf("chart %s: %w", in.Path, oneLine(err))
	}
	e := Explanation{Keys: []ExplainedKey{}, Files: []string{}, Dropped: append([]string{}, given.dropped...)}
	for _, l := range given.layers {
		if !strings.HasPrefix(l.name, "helm.") {
			e.Files = append(e.Files, l.name)
		}
	}
	e.walk(nil, values, layers)
	e.findRemoved(values, layers)
	slices.SortFunc(e.Keys, func(a, b ExplainedKey) int { return strings.Compare(a.Key, b.Key) })
	return e, nil
}

// defaults are the values that the chart and its subcharts bring along, the
// innermost first, at the keys where they are seen.
func (c *loaded) defaults(ch *chart.Chart, dir string, at []string) []layer {
	var layers []layer
	for _, sub := range ch.Dependencies() {
		layers = append(layers, c.defaults(sub, path.Join(dir, "charts", sub.Name()), append(slices.Clip(at), sub.Name()))...)
	}
	values := any(ch.Values)
	for _, key := range slices.Backward(at) {
		values = map[string]any{key: values}
	}
	nested, _ := values.(map[string]any)
	return append(layers, layer{path.Join(dir, "values.yaml"), nested})
}

func (e *Explanation) walk(at []string, value any, layers []layer) {
	if inner, ok := asMap(value); ok && len(inner) > 0 {
		for _, key := range slices.Sorted(maps.Keys(inner)) {
			e.walk(append(slices.Clip(at), key), inner[key], layers)
		}
		return
	}
	from := settersOf(at, layers)
	if len(from) == 0 || len(at) == 0 {
		return // Helm's own, such as "global" of a subchart
	}
	e.Keys = append(e.Keys, ExplainedKey{Key: strings.Join(at, "."), Value: value, From: from[0], Over: from[1:]})
}

// findRemoved adds the keys that a layer takes away with a null.
func (e *Explanation) findRemoved(values any, layers []layer) {
	seen := map[string]bool{}
	for i, l := range slices.Backward(layers) {
		eachNull(nil, l.values, func(at []string) {
			key := strings.Join(at, ".")
			if _, still := lookUp(values, at); still || seen[key] {
				return
			}
			seen[key] = true
			from := settersOf(at, layers[:i])
			if len(from) > 0 {
				e.Keys = append(e.Keys, ExplainedKey{Key: key, From: l.name, Over: from, Removed: true})
			}
		})
	}
}

// settersOf lists the layers that set a key, the strongest first.
func settersOf(at []string, layers []layer) []string {
	var from []string
	for _, l := range slices.Backward(layers) {
		if value, ok := lookUp(l.values, at); ok && value != nil {
			from = append(from, l.name)
		}
	}
	return from
}

func eachNull(at []string, value any, visit func([]string)) {
	inner, ok := asMap(value)
	if !ok {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(inner)) {
		if next := append(slices.Clip(at), key); inner[key] == nil {
			visit(next)
		} else {
			eachNull(next, inner[key], visit)
		}
	}
}

func lookUp(value any, at []string) (any, bool) {
	for _, key := range at {
		inner, ok := asMap(value)
		if !ok {
			return nil, false
		}
		if value, ok = inner[key]; !ok {
			return nil, false
		}
	}
	return value, true
}

// asMap sees through Helm's own type for values.
func asMap(value any) (map[string]any, bool) {
	switch m := value.(type) {
	case map[string]any:
		return m, true
	case interface{ AsMap() map[string]any }:
		return m.AsMap(), true
	default:
		return nil, false
	}
}

// remarks names the value files that were passed over.
func (m *merged) remarks() []diag.Diagnostic {
	var list []diag.Diagnostic
	for _, name := range m.dropped {
		list = append(list, diag.Diagnostic{
			Code: "value-file-missing", Severity: diag.Info,
			Message: fmt.Sprintf("value file %s does not exist and was passed over, as helm.ignoreMissingValueFiles asks", name),
		})
	}
	return list
}
