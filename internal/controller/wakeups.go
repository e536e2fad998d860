// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// coalesce is how long changes are gathered before their Applications are looked
// at: a rollout of a Deployment is a burst of events, one look is enough.
const coalesce = 50 * time.Millisecond

// wakeups gathers the Applications that something has happened to and hands them
// to the work queue, each once. Adding never blocks.
type wakeups struct {
	out chan event.GenericEvent

	mu      sync.Mutex
	pending map[types.NamespacedName]bool
	signal  chan struct{}
}

func newWakeups() *wakeups {
	return &wakeups{
		out:     make(chan event.GenericEvent),
		pending: map[types.NamespacedName]bool{},
		signal:  make(chan struct{}, 1),
	}
}

func (w *wakeups) add(names ...types.NamespacedName) {
	if len(names) == 0 {
		return
	}
	w.mu.Lock()
	for _, name := range names {
		w.pending[name] = true
	}
	w.mu.Unlock()
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// run hands over until ctx ends.
func (w *wakeups) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.signal:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(coalesce):
		}
		for _, name := range w.take() {
			app := &v1alpha1.Application{}
			app.Namespace, app.Name = name.Namespace, name.Name
			select {
			case <-ctx.Done():
				return nil
			case w.out <- event.GenericEvent{Object: app}:
			}
		}
	}
}

func (w *wakeups) take() []types.NamespacedName {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := make([]types.NamespacedName, 0, len(w.pending))
	for name := range w.pending {
		names = append(names, name)
	}
	clear(w.pending)
	return names
}

// watchlist knows which Applications are concerned by which live object: those
// that render it, those whose tracking id it carries, and those that failed
// because of it.
type watchlist struct {
	mu sync.Mutex
	// byObject holds, per server and key, the Applications that render it.
	byObject map[place]map[types.NamespacedName]bool
	// byInstance maps the name in tracking ids to the Application.
	byInstance map[string]types.NamespacedName
	objects    map[types.NamespacedName][]place
}

// place is an object on a cluster.
type place struct {
	server string
	key    manifest.Key
}

func newWatchlist() *watchlist {
	return &watchlist{
		byObject:   map[place]map[types.NamespacedName]bool{},
		byInstance: map[string]types.NamespacedName{},
		objects:    map[types.NamespacedName][]place{},
	}
}

// set replaces what the Application is concerned by.
func (l *watchlist) set(app types.NamespacedName, instance, server string, keys []manifest.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(app)
	l.byInstance[instance] = app
	for _, key := range keys {
		at := place{server, key}
		if l.byObject[at] == nil {
			l.byObject[at] = map[types.NamespacedName]bool{}
		}
		l.byObject[at][app] = true
		l.objects[app] = append(l.objects[app], at)
	}
}

// remove forgets the Application.
func (l *watchlist) remove(app types.NamespacedName, instance string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(app)
	if l.byInstance[instance] == app {
		delete(l.byInstance, instance)
	}
}

func (l *watchlist) drop(app types.NamespacedName) {
	for _, at := range l.objects[app] {
		delete(l.byObject[at], app)
		if len(l.byObject[at]) == 0 {
			delete(l.byObject, at)
		}
	}
	delete(l.objects, app)
}

// concerned returns the Applications that a change concerns.
func (l *watchlist) concerned(server string, change cluster.Change) []types.NamespacedName {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []types.NamespacedName
	for name := range l.byObject[place{server, change.Key}] {
		names = append(names, name)
	}
	if change.TrackingID == "" {
		return names
	}
	if id, err := manifest.ParseTrackingID(change.TrackingID); err == nil {
		if name, ok := l.byInstance[id.App]; ok {
			names = append(names, name)
		}
	}
	return names
}
