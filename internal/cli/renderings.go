// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/unstable"
)

// renderings remembers what sources render, so that what two revisions have in
// common is rendered once. The zero value remembers nothing.
type renderings struct {
	of map[string][]render.Result
	// by renders; nil does it without plugins.
	by render.Func
}

func newRenderings() *renderings { return &renderings{of: map[string][]render.Result{}} }

// render returns what is known of a source if it would read the same now, or renders
// it.
func (r *renderings) render(ctx context.Context, src render.Source, target render.Target) (render.Result, error) {
	by := r.by
	if by == nil {
		by = render.Render
	}
	if r.of == nil {
		return by(ctx, src, target)
	}
	key, err := render.Key(src)
	if err != nil {
		return render.Result{}, err
	}
	key = strings.Join([]string{key, target.AppName, target.Namespace}, "\x00")
	for _, known := range r.of[key] {
		if render.Holds(ctx, known.Trace, src, target) {
			return known, nil
		}
	}
	result, err := by(ctx, src, target)
	if err == nil {
		r.of[key] = append(r.of[key], result)
	}
	return result, err
}

// keepChance gives the fields of head that come out differently each time the values
// that they have in base: on a cluster, they stay as well.
func keepChance(base, head []planned) {
	before := map[string]map[manifest.Key]manifest.Object{}
	for _, service := range base {
		byKey := map[manifest.Key]manifest.Object{}
		for _, o := range service.objects {
			byKey[o.Key()] = o
		}
		before[service.plan.App] = byKey
	}
	for i := range head {
		service := &head[i]
		service.objects = slices.Clone(service.objects)
		for _, field := range service.chance {
			obj := service.objects[field.Object]
			was, ok := before[service.plan.App][obj.Key()]
			if !ok || len(field.Path) == 0 {
				continue
			}
			value, ok := unstable.Get(was.Object, field.Path)
			if !ok {
				continue
			}
			content, _ := unstable.With(obj.Object, field.Path, value).(map[string]any)
			obj.Unstructured = &unstructured.Unstructured{Object: content}
			service.objects[field.Object] = obj
		}
	}
}
