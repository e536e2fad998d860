// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// settle collects the changes of a group before it is discovered: a CRD is
	// written several times until it is established.
	settle = 50 * time.Millisecond
	// settling is how long after a change discovery may lag behind it.
	settling = 5 * time.Second
)

// definers are the kinds whose objects define other kinds, with what the name of
// an object says: the group, and the resource where it is part of the name.
func definers() map[schema.GroupVersionResource]func(name string) (group, resource string) {
	return map[schema.GroupVersionResource]func(string) (string, string){
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}: func(name string) (string, string) {
			resource, group, _ := strings.Cut(name, ".")
			return group, resource
		},
		{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}: func(name string) (string, string) {
			_, group, _ := strings.Cut(name, ".")
			return group, ""
		},
	}
}

func definer(gk schema.GroupKind) (nameOf func(name string) (group, resource string), ok bool) {
	for gvr, fn := range definers() {
		if gvr.Group == gk.Group && (gk.Kind == "CustomResourceDefinition" || gk.Kind == "APIService") {
			return fn, true
		}
	}
	return nil, false
}

// watchDiscovery watches the metadata of what defines kinds and discovers a group
// again when it changes. Without the right to watch them, and where the connection
// is for namespaces alone, kinds are still found when somebody asks.
func (c *Cluster) watchDiscovery(ctx context.Context) {
	if !c.reach.covers(false) {
		return
	}
	ctx = klog.NewContext(ctx, logr.Discard())
	q := &groupQueue{wake: make(chan struct{}, 1), groups: map[string]*unsettled{}}
	var running sync.WaitGroup
	for gvr, nameOf := range definers() {
		client := c.meta.Resource(gvr)
		lw := &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return client.List(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return c.openWatch(ctx, func() (watch.Interface, error) { return client.Watch(ctx, o) }, c.reached)
			},
		}
		feed := &definitions{c: c, q: q, nameOf: nameOf, versions: map[string]string{}}
		r := cache.NewReflectorWithOptions(lw, &metav1.PartialObjectMetadata{}, feed, cache.ReflectorOptions{
			Name: gvr.Resource, TypeDescription: gvr.Resource, Clock: c.clock,
		})
		running.Go(func() {
			pause := newPause(c.clock)
			for ctx.Err() == nil {
				if err := r.ListAndWatchWithContext(ctx); err != nil && reasonOf(err) == Rejected {
					pause.next = refusedPause
				}
				pause.wait(ctx)
			}
		})
	}
	running.Go(func() { c.rediscover(ctx, q, &running) })
	running.Wait()
}

// rediscover discovers the groups in the queue as they come.
func (c *Cluster) rediscover(ctx context.Context, q *groupQueue, running *sync.WaitGroup) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.wake:
		}
		select {
		case <-ctx.Done():
			return
		case <-c.clock.After(settle):
		}
		for group, u := range q.take() {
			if err := c.catalog.refresh(ctx, group); err != nil || !u.visible(c.catalog, group) {
				// The server lags behind its own definitions, or cannot be asked.
				if c.clock.Since(u.since) < settling || err != nil {
					u.again.next = min(u.again.next, time.Second)
					running.Go(func() {
						if u.again.wait(ctx) {
							q.put(group, u)
						}
					})
				}
			}
			c.review(group)
		}
	}
}

// groupQueue holds groups that are to be discovered.
type groupQueue struct {
	mu     sync.Mutex
	groups map[string]*unsettled
	wake   chan struct{}
}

// unsettled is a group whose definitions changed.
type unsettled struct {
	since time.Time
	// expect are resources that discovery must come to list, or not to list any
	// more.
	expect map[string]bool
	again  *pause
}

func (u *unsettled) visible(c *catalog, group string) bool {
	for resource, there := range u.expect {
		if c.serves(schema.GroupResource{Group: group, Resource: resource}) != there {
			return false
		}
	}
	return true
}

// put adds a group; what is known of it already is more recent.
func (q *groupQueue) put(group string, u *unsettled) {
	q.mu.Lock()
	if known := q.groups[group]; known != nil {
		for resource, there := range u.expect {
			if _, ok := known.expect[resource]; !ok {
				known.expect[resource] = there
			}
		}
	} else {
		q.groups[group] = u
	}
	q.mu.Unlock()
	q.ring()
}

// changed notes that a definition was written or deleted.
func (q *groupQueue) changed(group, resource string, there bool, clock clock.Clock) {
	q.mu.Lock()
	u := q.groups[group]
	if u == nil {
		u = &unsettled{expect: map[string]bool{}, again: newPause(clock)}
		q.groups[group] = u
	}
	u.since = clock.Now()
	if resource != "" {
		u.expect[resource] = there
	}
	q.mu.Unlock()
	q.ring()
}

func (q *groupQueue) ring() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *groupQueue) take() map[string]*unsettled {
	q.mu.Lock()
	defer q.mu.Unlock()
	groups := q.groups
	q.groups = map[string]*unsettled{}
	return groups
}

// definitions turns changes of CRDs or APIServices into groups to discover.
type definitions struct {
	c      *Cluster
	q      *groupQueue
	nameOf func(name string) (group, resource string)
	// versions by name; used by the reflector's goroutine alone.
	versions map[string]string
}

func (d *definitions) Add(obj any) error    { return d.note(obj, true) }
func (d *definitions) Update(obj any) error { return d.note(obj, true) }
func (d *definitions) Delete(obj any) error { return d.note(obj, false) }
func (d *definitions) Resync() error        { return nil }

func (d *definitions) note(obj any, there bool) error {
	m, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil
	}
	if there {
		d.versions[m.Name] = m.ResourceVersion
	} else {
		delete(d.versions, m.Name)
	}
	d.tell(m.Name, there)
	return nil
}

func (d *definitions) tell(name string, there bool) {
	group, resource := d.nameOf(name)
	d.c.catalog.stir(group)
	d.q.changed(group, resource, there, d.c.clock)
}

// Replace compares a list with what was known. Of the first list only what
// discovery does not have is news.
func (d *definitions) Replace(list []any, _ string) error {
	first := len(d.versions) == 0
	now := make(map[string]string, len(list))
	for _, obj := range list {
		m, ok := obj.(*metav1.PartialObjectMetadata)
		if !ok {
			continue
		}
		now[m.Name] = m.ResourceVersion
		group, resource := d.nameOf(m.Name)
		switch {
		case !first && d.versions[m.Name] != m.ResourceVersion:
			d.tell(m.Name, true)
		case first && resource != "" && d.c.catalog.isLoaded() && !d.c.catalog.serves(schema.GroupResource{Group: group, Resource: resource}):
			d.tell(m.Name, true)
		}
	}
	for name := range d.versions {
		if _, ok := now[name]; !ok {
			d.tell(name, false)
		}
	}
	d.versions = now
	return nil
}
