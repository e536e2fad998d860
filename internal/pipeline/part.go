// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/cache"
	"github.com/wavetrain/wavetrain/internal/render/packed"
	"github.com/wavetrain/wavetrain/internal/render/trace"
)

// part is one rendered source with what it depends on, small enough to be kept for
// every source of a fleet.
type part struct {
	key string
	// trace is packed: a usual chart reads a dozen files.
	trace   []byte
	set     *packed.Set
	digest  string
	tool    string
	remarks render.Remarks
	// lookups are what was asked of the cluster, with the answers.
	lookups []trace.Answer
}

// maxParts is how many renderings per Application stay in memory: those of its
// sources, and of an earlier release if it is pinned to one.
const maxParts = 6

// part returns the rendering of a source: what is known of the Application, what
// the cache holds, or a new one.
func (r *Renderer) part(ctx context.Context, app string, anew bool, src render.Source, target render.Target) (*part, bool, error) {
	key, err := render.Key(src)
	if err != nil {
		return nil, false, err
	}
	key += r.rendering.Variant
	codec, err := r.codec()
	if err != nil {
		return nil, false, err
	}
	if !anew {
		if p, err := r.recall(app, key, codec, func(t trace.Trace) bool { return render.Holds(ctx, t, src, target) }); p != nil || err != nil {
			return p, true, err
		}
	}
	entry, err := r.tryRender(ctx, app, key, codec, src, target)
	if err != nil {
		return nil, false, err
	}
	if r.rendering.Cache != nil && !entry.Trace.Partial {
		// A cache that cannot be written costs time, nothing else.
		_ = r.rendering.Cache.Store(key, entry)
	}
	p, err := partOf(codec, key, entry)
	return p, false, err
}

// recall returns a rendering that is known and still holds.
func (r *Renderer) recall(app, key string, codec *packed.Codec, holds func(trace.Trace) bool) (*part, error) {
	r.mu.Lock()
	known := r.last[app]
	r.mu.Unlock()
	for _, p := range known {
		var t trace.Trace
		if p.key == key && codec.Unmarshal(p.trace, &t) == nil && holds(t) {
			return p, nil
		}
	}
	if r.rendering.Cache == nil {
		return nil, nil
	}
	entry, ok := r.rendering.Cache.Find(key, holds)
	if !ok {
		return nil, nil
	}
	return partOf(codec, key, *entry)
}

// entry renders a source.
func (r *Renderer) entry(ctx context.Context, codec *packed.Codec, src render.Source, target render.Target) (cache.Entry, error) {
	result, err := r.rendering.Render(ctx, src, target)
	if err != nil {
		return cache.Entry{}, err
	}
	if result.Packed == nil {
		if result.Packed, err = codec.Marshal(packed.Items(result.Objects)); err != nil {
			return cache.Entry{}, fmt.Errorf("pack the objects of %s: %w", src.Path, err)
		}
		result.Count = len(result.Objects)
	}
	if result.PackedTrace == nil {
		if result.PackedTrace, err = codec.Marshal(result.Trace); err != nil {
			return cache.Entry{}, fmt.Errorf("pack what %s depends on: %w", src.Path, err)
		}
	}
	entry := cache.Entry{Trace: result.Trace, PackedTrace: result.PackedTrace, Set: result.Packed, Count: result.Count, Digest: result.Digest, Tool: result.Tool}
	entry.Remarks, err = json.Marshal(result.Remarks)
	return entry, err
}

func partOf(codec *packed.Codec, key string, e cache.Entry) (*part, error) {
	p := &part{key: key, trace: e.PackedTrace, set: codec.Open(e.Set, e.Count), digest: e.Digest, tool: e.Tool}
	for _, answer := range e.Trace.Answers {
		if answer.Kind == trace.Lookup {
			p.lookups = append(p.lookups, answer)
		}
	}
	return p, json.Unmarshal(e.Remarks, &p.remarks)
}

// keep remembers the parts of an Application, the latest first.
func (r *Renderer) keep(app string, parts []placed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*part
	seen := map[*part]bool{}
	add := func(p *part) {
		if !seen[p] && len(list) < max(maxParts, 2*len(parts)) {
			seen[p] = true
			list = append(list, p)
		}
	}
	for _, p := range parts {
		add(p.part)
	}
	for _, p := range r.last[app] {
		add(p)
	}
	r.last[app] = list
	delete(r.anew, app)
}
