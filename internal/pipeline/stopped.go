// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/cache"
	"github.com/wavetrain/wavetrain/internal/render/packed"
	"github.com/wavetrain/wavetrain/internal/render/trace"
	"github.com/wavetrain/wavetrain/internal/render/worker"
)

// stopped is a rendering that exceeded a limit. What it depends on is not known, so
// it stands for the whole of its trees.
type stopped struct {
	of    string
	err   error
	until time.Time
}

// stoppedFor is how long a rendering that exceeded a limit is not tried again with
// the same input: a bomb would keep a worker busy for ever.
const stoppedFor = 10 * time.Minute

// tryRender renders a source, unless the same has exceeded a limit lately.
func (r *Renderer) tryRender(ctx context.Context, app, key string, codec *packed.Codec, src render.Source, target render.Target) (cache.Entry, error) {
	of := key + wholeOf(src) + trace.Digest(target)
	r.mu.Lock()
	last := r.stopped[app]
	r.mu.Unlock()
	if last.of == of && time.Now().Before(last.until) {
		return cache.Entry{}, last.err
	}
	entry, err := r.entry(ctx, codec, src, target)
	if _, limit := errors.AsType[*worker.LimitError](err); limit {
		last = stopped{of: of, until: time.Now().Add(stoppedFor)}
		last.err = fmt.Errorf("%w; it is tried again in %s, or when its source changes", err, stoppedFor)
		r.mu.Lock()
		r.stopped[app] = last
		r.mu.Unlock()
	}
	return entry, err
}

// wholeOf identifies the content of all trees of a source.
func wholeOf(src render.Source) string {
	id := func(tree fs.FS) string {
		if t, ok := tree.(trace.Identified); ok {
			return t.ObjectID(".")
		}
		return ""
	}
	of := []string{id(src.Files)}
	for _, ref := range slices.Sorted(maps.Keys(src.Refs)) {
		of = append(of, ref, id(src.Refs[ref]))
	}
	return strings.Join(of, " ")
}
