// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// coalesce is how long changes are gathered after an Application was handed over,
// before it is looked at again: a rollout of a Deployment is a burst of events. The
// first of a burst does not wait.
const coalesce = 50 * time.Millisecond

// wakeups gathers the Applications that something has happened to and hands them
// to the work queue, each once. Adding never blocks.
type wakeups struct {
	out chan event.GenericEvent
	// unchanged tells whether changes of objects make no difference to an
	// Application.
	unchanged func(name types.NamespacedName, keys []manifest.Key) bool

	mu      sync.Mutex
	pending map[types.NamespacedName]*news
	signal  chan struct{}
	// handed is when Applications were handed over, as long as that matters. It
	// belongs to run.
	handed map[types.NamespacedName]time.Time
}

// news is what has happened to an Application.
type news struct {
	// look is true when it is to be looked at in any case.
	look bool
	// keys are objects that have changed.
	keys []manifest.Key
}

// maxKeys is from how many changed objects on a look is cheaper than looking at
// each.
const maxKeys = 32

func newWakeups(unchanged func(types.NamespacedName, []manifest.Key) bool) *wakeups {
	return &wakeups{
		out:       make(chan event.GenericEvent),
		unchanged: unchanged,
		pending:   map[types.NamespacedName]*news{},
		signal:    make(chan struct{}, 1),
		handed:    map[types.NamespacedName]time.Time{},
	}
}

// add has Applications looked at.
func (w *wakeups) add(names ...types.NamespacedName) {
	w.note(names, func(n *news) { n.look, n.keys = true, nil })
}

// touch has Applications looked at if the change of an object makes a difference
// to them.
func (w *wakeups) touch(key manifest.Key, names ...types.NamespacedName) {
	w.note(names, func(n *news) {
		switch {
		case n.look || slices.Contains(n.keys, key):
		case len(n.keys) == maxKeys:
			n.look, n.keys = true, nil
		default:
			n.keys = append(n.keys, key)
		}
	})
}

func (w *wakeups) note(names []types.NamespacedName, happened func(*news)) {
	if len(names) == 0 {
		return
	}
	w.mu.Lock()
	for _, name := range names {
		if w.pending[name] == nil {
			w.pending[name] = &news{}
		}
		happened(w.pending[name])
	}
	w.mu.Unlock()
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// run hands over until ctx ends.
func (w *wakeups) run(ctx context.Context) error {
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.signal:
		case <-again:
		}
		ready, next := w.take(time.Now())
		for name, n := range ready {
			if !n.look && w.unchanged(name, n.keys) {
				continue
			}
			w.handed[name] = time.Now()
			app := &v1alpha1.Application{}
			app.Namespace, app.Name = name.Namespace, name.Name
			select {
			case <-ctx.Done():
				return nil
			case w.out <- event.GenericEvent{Object: app}:
			}
		}
		if again = nil; next > 0 {
			again = time.After(next)
		}
	}
}

// take returns what is to be handed over now, and when the next is due; zero if
// nothing waits.
func (w *wakeups) take(now time.Time) (ready map[types.NamespacedName]*news, next time.Duration) {
	maps.DeleteFunc(w.handed, func(_ types.NamespacedName, at time.Time) bool { return now.Sub(at) >= coalesce })
	ready = map[types.NamespacedName]*news{}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, n := range w.pending {
		if at, ok := w.handed[name]; ok {
			if left := coalesce - now.Sub(at); next == 0 || left < next {
				next = left
			}
			continue
		}
		ready[name] = n
		delete(w.pending, name)
	}
	return ready, next
}

// watchlist knows which Applications are concerned by which live object: those
// that render it, those whose tracking id it carries, and those that failed
// because of it.
type watchlist struct {
	// renderings says who renders what; that is not repeated here.
	renderings *renderings

	mu sync.Mutex
	register
	// byInstance maps the name in tracking ids to the Application.
	byInstance map[string]types.NamespacedName
}

func newWatchlist(r *renderings) *watchlist {
	return &watchlist{renderings: r, register: newRegister(), byInstance: map[string]types.NamespacedName{}}
}

// set replaces what the Application is concerned by, besides what it renders.
func (l *watchlist) set(app types.NamespacedName, instance, server string, keys []manifest.Key) {
	places := slices.DeleteFunc(placesOf(server, keys), func(at place) bool { return l.renderings.includes(app, at) })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byInstance[instance] = app
	l.replace(app, places)
}

// remove forgets the Application.
func (l *watchlist) remove(app types.NamespacedName, instance string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(app)
	if l.byInstance[instance] == app {
		delete(l.byInstance, instance)
	}
}

// concerned returns the Applications that a change concerns.
func (l *watchlist) concerned(server string, change cluster.Change) []types.NamespacedName {
	at := placeOf(server, change.Key)
	names := l.renderings.holders(at)
	l.mu.Lock()
	defer l.mu.Unlock()
	names = append(names, l.at(at)...)
	if change.TrackingID == "" {
		return names
	}
	if id, err := manifest.ParseTrackingID(change.TrackingID); err == nil {
		if name, ok := l.byInstance[id.App]; ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
