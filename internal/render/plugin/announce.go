// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/wavetrain/wavetrain/internal/render"
)

// Announced is what a plugin says of the parameters that a source may set.
type Announced struct {
	Plugin     string         `json:"plugin"`
	Parameters []Announcement `json:"parameters"`
}

// Parameters asks the plugin of a source what parameters it takes: first those that
// its command finds out from the files, then those in its description, of which one
// with the same name counts. It returns nil for a source that no plugin renders.
func (r *Runner) Parameters(ctx context.Context, src render.Source, target render.Target) (*Announced, error) {
	src, err := render.Effective(src, target.AppName)
	if err != nil {
		return nil, err
	}
	p, err := r.choose(ctx, src, target)
	if err != nil {
		return nil, fmt.Errorf("source %s: %w", src.Path, err)
	}
	if p == nil {
		return nil, nil
	}
	found, err := r.dynamic(ctx, *p, src, target)
	if err != nil {
		return nil, fmt.Errorf("source %s: plugin %s: parameters: %w", src.Path, p.Name(), err)
	}
	all := &Announced{Plugin: p.Name(), Parameters: []Announcement{}}
	at := map[string]int{}
	for _, a := range append(found, p.Spec.Parameters.Static...) {
		if a.ItemType == "" {
			a.ItemType = "string"
		}
		if a.CollectionType == "" {
			a.CollectionType = "string"
		}
		if i, twice := at[a.Name]; twice {
			all.Parameters[i] = a
			continue
		}
		at[a.Name] = len(all.Parameters)
		all.Parameters = append(all.Parameters, a)
	}
	return all, nil
}

// dynamic runs the command that prints announcements as JSON.
func (r *Runner) dynamic(ctx context.Context, p Plugin, src render.Source, target render.Target) ([]Announcement, error) {
	line := p.Spec.Parameters.Dynamic.line()
	if len(line) == 0 {
		return nil, nil
	}
	w, err := r.workplace(src, target, p.Spec.PreserveFileMode)
	if err != nil {
		return nil, err
	}
	defer w.remove()
	out, err := r.run(ctx, w, line)
	if err != nil {
		return nil, err
	}
	var found []Announcement
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, fmt.Errorf("%s did not print a JSON list of announcements: %w", line[0], err)
	}
	return found, nil
}
