// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"fmt"

	"github.com/wavetrain/wavetrain/internal/render/helm"
	"github.com/wavetrain/wavetrain/internal/render/trace"
)

// ExplainValues tells for a chart which place has set which value.
func ExplainValues(ctx context.Context, src Source, target Target) (helm.Explanation, error) {
	src, err := Effective(src, target.AppName)
	if err != nil {
		return helm.Explanation{}, err
	}
	tool, err := chooseTool(src)
	if err != nil {
		return helm.Explanation{}, err
	}
	if tool != Helm {
		return helm.Explanation{}, fmt.Errorf("%s is rendered by %s: only charts have values", src.Path, tool)
	}
	in := target.helmInput(src)
	in.Trace = trace.NewRecorder()
	in.Expand = func(text string) string { return target.expand(text, in.Trace) }
	return helm.Explain(ctx, in)
}
