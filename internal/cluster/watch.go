// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// patience is how long a kind may fail to sync for reasons that pass before
	// those who wait for it are told.
	patience = 3 * time.Second
	// refusedPause spaces attempts to watch a kind that we may not watch.
	refusedPause = 30 * time.Second
	// steady is how long a watch must last to count as working.
	steady = 10 * time.Second
)

// Watch has kinds watched and returns when they are synced. Kinds that are
// watched already cost nothing. The error is a *WatchError that names the kinds
// for which it did not work; the others are watched all the same, and those that
// failed are tried again in the background. Nothing happens before Start runs.
func (c *Cluster) Watch(ctx context.Context, gks ...schema.GroupKind) error {
	select {
	case <-c.started:
	case <-ctx.Done():
		return fmt.Errorf("wait for the connection to %s to be started: %w", c.server, ctx.Err())
	case <-c.life.Done():
		return c.closed()
	}
	gks = slices.Clone(gks)
	slices.SortFunc(gks, func(a, b schema.GroupKind) int {
		return slices.Compare([]string{a.Group, a.Kind}, []string{b.Group, b.Kind})
	})
	gks = slices.Compact(gks)
	var failed WatchError
	watches := make([]*kindWatch, len(gks))
	for i, gk := range gks {
		w, err := c.ensure(gk)
		if err != nil {
			failed.Kinds = append(failed.Kinds, KindError{gk, err})
		}
		watches[i] = w
	}
	for i, w := range watches {
		if w == nil {
			continue
		}
		if err := w.await(ctx); err != nil {
			failed.Kinds = append(failed.Kinds, KindError{gks[i], err})
		}
	}
	if len(failed.Kinds) == 0 {
		return nil
	}
	return &failed
}

func (c *Cluster) closed() error {
	return &Error{Op: "use the connection to", Server: c.server, Reason: Cancelled, Err: errors.New("it is closed")}
}

// ensure starts the watch of a kind unless it runs; there is none of a kind that
// is excluded.
func (c *Cluster) ensure(gk schema.GroupKind) (*kindWatch, error) {
	c.mu.Lock()
	w := c.watches[gk]
	c.wanted[gk] = true
	excluded := c.excludes(gk)
	c.mu.Unlock()
	if w != nil || excluded {
		return w, nil
	}
	res, err := c.Resolve(gk.WithVersion(""))
	if err != nil {
		return nil, err
	}
	if !res.Watchable {
		return nil, &Error{Op: "watch " + gk.String() + " on", Server: c.server, Reason: Rejected, Err: errors.New("the API server does not let this kind be watched")}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.watches[gk]; w != nil || c.excludes(gk) {
		return w, nil
	}
	if c.life.Err() != nil {
		return nil, c.closed()
	}
	ctx, stop := context.WithCancel(c.life)
	w = &kindWatch{
		c: c, kind: gk, res: res, stop: stop,
		done: make(chan struct{}), changed: make(chan struct{}),
	}
	c.watches[gk] = w
	c.store.hold(gk)
	go w.run(ctx)
	return w, nil
}

// watchOf returns the watch of a kind, nil if there is none.
func (c *Cluster) watchOf(gk schema.GroupKind) *kindWatch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watches[gk]
}

// review compares the watches with what discovery says now: kinds that are not
// served any more, or not in the version we watch, are dropped, wanted ones that
// are served again are watched.
func (c *Cluster) review(group string) {
	c.mu.Lock()
	var stale []*kindWatch
	var missing []schema.GroupKind
	for gk := range c.wanted {
		if gk.Group != group {
			continue
		}
		res, served := c.catalog.lookup(gk.WithVersion(""))
		w := c.watches[gk]
		if w != nil && (!served || w.res.GVR != res.GVR) {
			delete(c.watches, gk)
			stale = append(stale, w)
			w = nil
		}
		if w == nil && served {
			missing = append(missing, gk)
		}
	}
	c.mu.Unlock()
	c.end(stale)
	for _, gk := range missing {
		// A kind that cannot be watched now is reported to whoever asks for it.
		_, _ = c.ensure(gk)
	}
}

// kindWatch keeps the objects of one kind in the store.
type kindWatch struct {
	c    *Cluster
	kind schema.GroupKind
	res  Resource
	stop context.CancelFunc
	// done is closed when run has returned.
	done chan struct{}

	mu     sync.Mutex
	synced bool
	// err is why the kind is not up to date, since is when that began.
	err   error
	since time.Time
	// changed is closed and replaced when one of the above changes.
	changed chan struct{}
}

func (w *kindWatch) run(ctx context.Context) {
	defer close(w.done)
	// The reflector logs; what goes wrong is reported to who waits instead.
	ctx = klog.NewContext(ctx, logr.Discard())
	client := w.c.dynamic.Resource(w.res.GVR)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return w.list(ctx, client, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return w.c.openWatch(ctx, func() (watch.Interface, error) { return w.stream(ctx, o) }, w.note)
		},
	}
	r := cache.NewReflectorWithOptions(lw, &told{}, feed{w}, cache.ReflectorOptions{
		Name: w.kind.String(), TypeDescription: w.kind.String(), Clock: w.c.clock,
	})
	pause := newPause(w.c.clock)
	for ctx.Err() == nil {
		began := w.c.clock.Now()
		err := r.ListAndWatchWithContext(ctx)
		if w.c.clock.Since(began) > steady {
			pause = newPause(w.c.clock)
		}
		if err != nil {
			w.note(err)
			if reasonOf(err) == Rejected {
				pause.next = refusedPause
			}
		}
		pause.wait(ctx)
	}
}

// openWatch opens a watch, again and again while the server does not answer: the
// watch then goes on where it was, and nothing is listed anew. Note is told of
// every attempt.
func (c *Cluster) openWatch(ctx context.Context, start func() (watch.Interface, error), note func(error)) (watch.Interface, error) {
	pause := newPause(c.clock)
	for {
		stream, err := start()
		note(err)
		if err == nil {
			return stream, nil
		}
		// A version that is too old or too new is answered with a new list.
		if r := reasonOf(err); (r != Unreachable && r != Busy) || apierrors.IsTimeout(err) {
			return nil, err
		}
		if !pause.wait(ctx) {
			return nil, ctx.Err()
		}
	}
}

// await returns when the kind is synced or why it is not.
func (w *kindWatch) await(ctx context.Context) error {
	for {
		w.mu.Lock()
		synced, err, since, changed := w.synced, w.err, w.since, w.changed
		w.mu.Unlock()
		if synced {
			return nil
		}
		var late <-chan time.Time
		if err != nil {
			left := patience - w.c.clock.Since(since)
			if r := reasonOf(err); left <= 0 || (r != Unreachable && r != Busy) {
				return w.c.problem("watch "+w.kind.String()+" on", subject{}, err)
			}
			late = w.c.clock.After(left)
		}
		select {
		case <-changed:
		case <-late:
		case <-w.done:
			return w.c.closed()
		case <-ctx.Done():
			if err == nil {
				err = ctx.Err()
			}
			return w.c.problem("watch "+w.kind.String()+" on", subject{}, err)
		}
	}
}

func (w *kindWatch) update(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fn()
	close(w.changed)
	w.changed = make(chan struct{})
}

// note takes the outcome of an attempt to read the kind.
func (w *kindWatch) note(err error) {
	w.mu.Lock()
	same := err == nil && w.err == nil
	w.mu.Unlock()
	if same {
		return
	}
	w.update(func() {
		if w.err == nil {
			w.since = w.c.clock.Now()
		}
		w.err = err
	})
}

// Stale returns why watched kinds are not up to date at the moment, nil if they
// are. Reading them still works and gives their last known state.
func (c *Cluster) Stale() error {
	c.mu.Lock()
	watches := make([]*kindWatch, 0, len(c.watches))
	for _, w := range c.watches {
		watches = append(watches, w)
	}
	c.mu.Unlock()
	slices.SortFunc(watches, func(a, b *kindWatch) int {
		return slices.Compare([]string{a.kind.Group, a.kind.Kind}, []string{b.kind.Group, b.kind.Kind})
	})
	for _, w := range watches {
		w.mu.Lock()
		err := w.err
		w.mu.Unlock()
		if err != nil {
			return c.problem("watch "+w.kind.String()+" on", subject{}, err)
		}
	}
	return nil
}

// feed puts what the reflector reads into the store.
type feed struct{ w *kindWatch }

var _ cache.TransformingStore = feed{}

// Transformer makes entries of objects before the reflector collects them, so
// that a list is never held in full.
func (f feed) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) { return f.entry(obj) }
}

func (f feed) Add(obj any) error    { return f.saw(obj) }
func (f feed) Update(obj any) error { return f.saw(obj) }
func (f feed) Resync() error        { return nil }

func (f feed) saw(obj any) error {
	if t, ok := obj.(*told); ok && f.w.c.store.knows(t.key(), t.uid, parseVersion(t.version)) {
		// Our own write: its answer was faster.
		f.w.c.store.reaches(t.key(), parseVersion(t.version))
		return nil
	}
	e, err := f.entry(obj)
	if err != nil {
		return err
	}
	f.w.c.store.saw(e)
	return nil
}

// Delete takes the last state of an object that is gone.
func (f feed) Delete(obj any) error {
	t, ok := obj.(*told)
	if !ok {
		return unexpected(obj)
	}
	f.w.c.store.sawDeleted(t.key(), t.uid, parseVersion(t.version))
	return nil
}

func (f feed) Replace(list []any, version string) error {
	entries := make([]*entry, len(list))
	for i, obj := range list {
		e, err := f.entry(obj)
		if err != nil {
			return err
		}
		entries[i] = e
	}
	f.w.c.store.sawAll(f.w.kind, entries, parseVersion(version))
	f.w.update(func() { f.w.synced, f.w.err = true, nil })
	return nil
}

func (f feed) entry(obj any) (*entry, error) {
	switch x := obj.(type) {
	case *entry:
		return x, nil
	case *told:
		return f.w.c.codec.keep(x.text)
	default:
		return nil, unexpected(obj)
	}
}

func unexpected(obj any) error { return fmt.Errorf("unexpected object of type %T in a watch", obj) }

// page is a part of a list, packed.
type page struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []*entry
}

// DeepCopyObject implements runtime.Object; a page is read once.
func (p *page) DeepCopyObject() runtime.Object { return p }

// list reads a page for servers that do not stream lists. Unless a version is
// asked for it is read page by page: only then does the server heed the limit.
func (w *kindWatch) list(ctx context.Context, client dynamic.ResourceInterface, o metav1.ListOptions) (runtime.Object, error) {
	if o.ResourceVersion == "0" {
		o.ResourceVersion = ""
	}
	list, err := client.List(ctx, o)
	if err != nil {
		return nil, err
	}
	p := &page{Items: make([]*entry, len(list.Items))}
	p.ResourceVersion, p.Continue, p.RemainingItemCount = list.GetResourceVersion(), list.GetContinue(), list.GetRemainingItemCount()
	for i := range list.Items {
		if p.Items[i], err = w.c.codec.newEntry(&list.Items[i]); err != nil {
			return nil, err
		}
		list.Items[i] = unstructured.Unstructured{}
	}
	return p, nil
}

// pause is a growing wait between attempts.
type pause struct {
	clock clock.Clock
	next  time.Duration
}

func newPause(c clock.Clock) *pause { return &pause{clock: c, next: 100 * time.Millisecond} }

// wait waits and reports whether ctx is still alive.
func (p *pause) wait(ctx context.Context) bool {
	timer := p.clock.NewTimer(p.next)
	defer timer.Stop()
	p.next = min(2*p.next, 5*time.Second)
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}
