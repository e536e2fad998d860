// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
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
)

// kindWatch keeps the objects of one kind in the store: by one watch, or by one
// for each namespace that the connection is for.
type kindWatch struct {
	c    *Cluster
	kind schema.GroupKind
	res  Resource
	stop context.CancelFunc
	// done is closed when run has returned.
	done  chan struct{}
	parts []*watchPart
}

// watchPart is the watch of a kind in one namespace or, if that is empty, in all.
type watchPart struct {
	w         *kindWatch
	namespace string

	mu     sync.Mutex
	synced bool
	// err is why the part is not up to date, since is when that began.
	err   error
	since time.Time
	// changed is closed and replaced when one of the above changes.
	changed chan struct{}
}

func (w *kindWatch) run(ctx context.Context) {
	defer close(w.done)
	// The reflector logs; what goes wrong is reported to who waits instead.
	ctx = klog.NewContext(ctx, logr.Discard())
	var running sync.WaitGroup
	for _, p := range w.parts[1:] {
		running.Go(func() { p.run(ctx) })
	}
	w.parts[0].run(ctx)
	running.Wait()
}

// await returns when the kind is synced or why it is not. Where it is watched
// namespace by namespace, one that works is enough.
func (w *kindWatch) await(ctx context.Context) error {
	var first error
	failed := 0
	for _, p := range w.parts {
		if err := p.await(ctx); err != nil {
			failed++
			if first == nil {
				first = err
			}
		}
	}
	if failed < len(w.parts) {
		return nil
	}
	return first
}

// in returns the part that tells of a namespace, nil if none does.
func (w *kindWatch) in(namespace string) *watchPart {
	for _, p := range w.parts {
		if p.namespace == "" || p.namespace == namespace {
			return p
		}
	}
	return nil
}

// op says what the part does, for errors.
func (p *watchPart) op() string {
	if p.namespace == "" {
		return "watch " + p.w.kind.String() + " on"
	}
	return fmt.Sprintf("watch %s in namespace %s on", p.w.kind, p.namespace)
}

func (p *watchPart) run(ctx context.Context) {
	c := p.w.c
	var client dynamic.ResourceInterface = c.dynamic.Resource(p.w.res.GVR)
	if p.namespace != "" {
		client = c.dynamic.Resource(p.w.res.GVR).Namespace(p.namespace)
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return p.list(ctx, client, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return c.openWatch(ctx, func() (watch.Interface, error) { return p.stream(ctx, o) }, p.note)
		},
	}
	r := cache.NewReflectorWithOptions(lw, &told{}, feed{p}, cache.ReflectorOptions{
		Name: p.w.kind.String(), TypeDescription: p.w.kind.String(), Clock: c.clock,
	})
	pause := newPause(c.clock)
	for ctx.Err() == nil {
		began := c.clock.Now()
		err := r.ListAndWatchWithContext(ctx)
		if c.clock.Since(began) > steady {
			pause = newPause(c.clock)
		}
		if err != nil && ctx.Err() == nil {
			p.note(err)
			if reasonOf(err) == Rejected {
				pause.next = refusedPause
			}
		}
		if apierrors.IsNotFound(err) {
			// The kind went away, and perhaps nobody could tell.
			c.running.Go(func() { c.reconsider(p.w.kind.Group) })
		}
		pause.wait(ctx)
	}
}

// reconsider discovers a group and has its kinds watched as they are served now.
func (c *Cluster) reconsider(group string) {
	if c.catalog.refresh(c.life, group) == nil {
		c.review(group)
	}
}

// await returns when the part is synced or why it is not.
func (p *watchPart) await(ctx context.Context) error {
	for {
		p.mu.Lock()
		synced, err, since, changed := p.synced, p.err, p.since, p.changed
		p.mu.Unlock()
		if synced {
			return nil
		}
		var late <-chan time.Time
		if err != nil {
			left := patience - p.w.c.clock.Since(since)
			if r := reasonOf(err); left <= 0 || (r != Unreachable && r != Busy) {
				return p.w.c.problem(p.op(), subject{}, err)
			}
			late = p.w.c.clock.After(left)
		}
		select {
		case <-changed:
		case <-late:
		case <-p.w.done:
			return p.w.c.closed()
		case <-ctx.Done():
			if err == nil {
				err = ctx.Err()
			}
			return p.w.c.problem(p.op(), subject{}, err)
		}
	}
}

func (p *watchPart) update(fn func()) {
	p.mu.Lock()
	before := apierrors.IsForbidden(p.err)
	fn()
	err := p.err
	close(p.changed)
	p.changed = make(chan struct{})
	p.mu.Unlock()
	if now := apierrors.IsForbidden(err); now != before && p.w.c.refused != nil {
		if !now {
			err = nil
		}
		p.w.c.refused(Refusal{Kind: p.w.kind, Namespace: p.namespace, Err: err})
	}
}

// note takes the outcome of an attempt to read the part; that it was ended is none.
func (p *watchPart) note(err error) {
	if err != nil && reasonOf(err) == Cancelled {
		return
	}
	p.mu.Lock()
	same := err == nil && p.err == nil
	p.mu.Unlock()
	if same {
		return
	}
	p.update(func() {
		if p.err == nil {
			p.since = p.w.c.clock.Now()
		}
		p.err = err
	})
}

// feed puts what the reflector reads into the store.
type feed struct{ p *watchPart }

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
	if t, ok := obj.(*told); ok && f.p.w.c.store.knows(t.key(), t.uid, parseVersion(t.version)) {
		// Our own write: its answer was faster.
		f.p.w.c.store.reaches(t.key(), parseVersion(t.version))
		return nil
	}
	e, err := f.entry(obj)
	if err != nil {
		return err
	}
	f.p.w.c.store.saw(e)
	return nil
}

// Delete takes the last state of an object that is gone.
func (f feed) Delete(obj any) error {
	t, ok := obj.(*told)
	if !ok {
		return unexpected(obj)
	}
	f.p.w.c.store.sawDeleted(t.key(), t.uid, parseVersion(t.version))
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
	f.p.w.c.store.sawAll(f.p.w.kind, f.p.namespace, entries, parseVersion(version))
	f.p.w.c.listed(f.p.w.kind)
	f.p.update(func() { f.p.synced, f.p.err = true, nil })
	return nil
}

func (f feed) entry(obj any) (*entry, error) {
	switch x := obj.(type) {
	case *entry:
		return x, nil
	case *told:
		return f.p.w.c.codec.keep(x.text)
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
func (p *watchPart) list(ctx context.Context, client dynamic.ResourceInterface, o metav1.ListOptions) (runtime.Object, error) {
	if o.ResourceVersion == "0" {
		o.ResourceVersion = ""
	}
	list, err := client.List(ctx, o)
	if err != nil {
		return nil, err
	}
	out := &page{Items: make([]*entry, len(list.Items))}
	out.ResourceVersion, out.Continue, out.RemainingItemCount = list.GetResourceVersion(), list.GetContinue(), list.GetRemainingItemCount()
	for i := range list.Items {
		if out.Items[i], err = p.w.c.codec.newEntry(&list.Items[i]); err != nil {
			return nil, err
		}
		list.Items[i] = unstructured.Unstructured{}
	}
	return out, nil
}
