// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/kustomize"
	"github.com/wavetrain/wavetrain/internal/render/packed"
)

// Options of a Pool.
type Options struct {
	// Command starts a worker: this program and what makes it call Serve.
	Command []string
	// Size is how many renderings go on at once. Defaults to GOMAXPROCS.
	Size int
	// Limits of one rendering.
	Limits Limits
	// MaxJobs is after how many renderings a worker is replaced, so that what
	// libraries leave behind does not pile up. Defaults to 1000.
	MaxJobs int
	// Idle is how long a worker is kept that nobody needs. Defaults to a minute.
	Idle time.Duration
}

// Pool renders in workers.
type Pool struct {
	opts  Options
	slots chan struct{}
	codec func() (*packed.Codec, error)

	mu     sync.Mutex
	free   []*process
	closed bool
}

// NewPool makes a Pool. Workers start when they are needed.
func NewPool(opts Options) *Pool {
	if opts.Size == 0 {
		opts.Size = runtime.GOMAXPROCS(0)
	}
	if opts.MaxJobs == 0 {
		opts.MaxJobs = 1000
	}
	if opts.Idle == 0 {
		opts.Idle = time.Minute
	}
	opts.Limits = opts.Limits.WithDefaults()
	return &Pool{opts: opts, slots: make(chan struct{}, opts.Size), codec: sync.OnceValues(packed.NewCodec)}
}

// Close ends all workers that are not at work; the others end with their job.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, w := range p.free {
		w.idle.Stop()
		w.end()
	}
	p.free = nil
}

// Render is render.Render in a worker. Of the result it has the packed form.
func (p *Pool) Render(ctx context.Context, src render.Source, target render.Target) (render.Result, error) {
	src, err := render.Effective(src, target.AppName)
	if err != nil {
		return render.Result{}, err
	}
	j, err := p.job(src, target)
	if err != nil {
		return render.Result{}, err
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return render.Result{}, context.Cause(ctx)
	}
	done, err := p.run(ctx, j, p.replies(ctx, src, target))
	if limit, ok := errors.AsType[*LimitError](err); ok {
		return render.Result{}, &LimitError{App: target.AppName, Path: src.Path, Limit: limit.Limit, Max: limit.Max}
	}
	if err != nil {
		return render.Result{}, fmt.Errorf("application %s, %s: %w", target.AppName, src.Path, err)
	}
	return p.result(src, target, done)
}

func (p *Pool) result(src render.Source, target render.Target, done *outcome) (render.Result, error) {
	if f := done.Fault; f != nil {
		if f.Limit != "" {
			return render.Result{}, &LimitError{App: target.AppName, Path: src.Path, Limit: f.Limit, Max: bytesText(p.opts.Limits.Output)}
		}
		return render.Result{}, f.err()
	}
	result := render.Result{Packed: done.Set, Count: done.Count, Digest: done.Digest, Tool: done.Tool, PackedTrace: done.Trace}
	codec, err := p.codec()
	if err != nil {
		return render.Result{}, err
	}
	if err := codec.Unmarshal(done.Trace, &result.Trace); err != nil {
		return render.Result{}, fmt.Errorf("read what the render worker has read: %w", err)
	}
	if err := json.Unmarshal(done.Remarks, &result.Remarks); err != nil {
		return render.Result{}, fmt.Errorf("read what the render worker remarks: %w", err)
	}
	return result, nil
}

func (p *Pool) job(src render.Source, target render.Target) (*job, error) {
	j := &job{
		Refs: slices.Sorted(maps.Keys(src.Refs)), CanLookup: target.Lookup != nil, CanFetch: target.Fetch != nil, CanElsewhere: target.Elsewhere != nil,
		CPU: p.opts.Limits.CPU, MaxOutput: p.opts.Limits.Output, Ahead: ahead(src),
	}
	src.Files, src.Refs = nil, nil
	var err error
	if j.Source, err = json.Marshal(src); err != nil {
		return nil, err
	}
	j.Target, err = json.Marshal(target)
	return j, err
}

// replies answers a worker's questions about one job.
func (p *Pool) replies(ctx context.Context, src render.Source, target render.Target) func(question) *answer {
	trees := answers{trees: map[string]fs.FS{"": src.Files}}
	maps.Copy(trees.trees, src.Refs)
	return func(q question) *answer {
		switch {
		case q.Kind == askLookup && target.Lookup != nil:
			object, err := target.Lookup(ctx, q.Lookup)
			if err != nil {
				return &answer{Fault: err.Error()}
			}
			return &answer{Object: object}
		case q.Kind == askFetch && target.Fetch != nil:
			content, err := target.Fetch(ctx, q.Path)
			if err != nil {
				return &answer{Fault: err.Error()}
			}
			return &answer{Content: content}
		case q.Kind == askElsewhere && target.Elsewhere != nil:
			e, _ := kustomize.ParseElsewhere(q.Path)
			files, dir, err := target.Elsewhere(ctx, e)
			if err != nil {
				return &answer{Fault: err.Error()}
			}
			trees.trees[treeOf(q.Path)] = files
			return &answer{Entry: entry{Name: dir}}
		default:
			return trees.to(q)
		}
	}
}

func (p *Pool) run(ctx context.Context, j *job, reply func(question) *answer) (*outcome, error) {
	w, err := p.take()
	if err != nil {
		return nil, err
	}
	release := w.guard(ctx, p.opts.Limits)
	done, err := w.run(j, reply)
	killed := release()
	switch {
	case killed != nil:
		w.end()
		return nil, killed
	case errors.Is(err, errTooLong):
		w.end()
		return nil, &LimitError{Limit: limitOutput, Max: bytesText(p.opts.Limits.Output)}
	case err != nil:
		w.end()
		if limit := crash(w.words.String(), p.opts.Limits); limit != nil {
			return nil, limit
		}
		return nil, fmt.Errorf("the render worker ended: %s (%w)", w.words, err)
	}
	w.jobs++
	if done.Worn || w.jobs >= p.opts.MaxJobs {
		w.end()
	} else {
		p.put(w)
	}
	return done, nil
}

// take returns a worker that waits, or else starts one.
func (p *Pool) take() (*process, error) {
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		w := p.free[n-1]
		p.free = p.free[:n-1]
		p.mu.Unlock()
		w.idle.Stop()
		return w, nil
	}
	p.mu.Unlock()
	return start(p.opts.Command, p.opts.Limits)
}

func (p *Pool) put(w *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		w.end()
		return
	}
	p.free = append(p.free, w)
	w.idle = time.AfterFunc(p.opts.Idle, func() { p.retire(w) })
}

// retire ends a worker that nobody needed.
func (p *Pool) retire(w *process) {
	p.mu.Lock()
	i := slices.Index(p.free, w)
	if i >= 0 {
		p.free = slices.Delete(p.free, i, i+1)
	}
	p.mu.Unlock()
	if i >= 0 {
		w.end()
	}
}
