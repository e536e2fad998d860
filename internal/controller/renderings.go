// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// renderings knows which Applications render which object of which cluster. It
// is made from rendered sets, not from marks on live objects.
type renderings struct {
	mu      sync.Mutex
	byPlace map[place]map[types.NamespacedName]bool
	byApp   map[types.NamespacedName]map[place]bool
}

func newRenderings() *renderings {
	return &renderings{byPlace: map[place]map[types.NamespacedName]bool{}, byApp: map[types.NamespacedName]map[place]bool{}}
}

// set replaces what the Application renders. It returns the others to which that
// makes a difference: those that render an object which came or went.
func (r *renderings) set(app types.NamespacedName, server string, keys []manifest.Key) []types.NamespacedName {
	next := make(map[place]bool, len(keys))
	for _, key := range keys {
		next[place{server, key}] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.replace(app, next)
}

// remove forgets the Application; it returns the others to which that makes a
// difference.
func (r *renderings) remove(app types.NamespacedName) []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	others := r.replace(app, nil)
	delete(r.byApp, app)
	return others
}

func (r *renderings) replace(app types.NamespacedName, next map[place]bool) []types.NamespacedName {
	concerned := map[types.NamespacedName]bool{}
	note := func(at place) {
		for other := range r.byPlace[at] {
			if other != app {
				concerned[other] = true
			}
		}
	}
	for at := range r.byApp[app] {
		if next[at] {
			continue
		}
		note(at)
		if delete(r.byPlace[at], app); len(r.byPlace[at]) == 0 {
			delete(r.byPlace, at)
		}
	}
	for at := range next {
		if r.byApp[app][at] {
			continue
		}
		note(at)
		if r.byPlace[at] == nil {
			r.byPlace[at] = map[types.NamespacedName]bool{}
		}
		r.byPlace[at][app] = true
	}
	r.byApp[app] = next
	names := make([]types.NamespacedName, 0, len(concerned))
	for name := range concerned {
		names = append(names, name)
	}
	return names
}

// known reports whether the Application has been looked at since this process
// began.
func (r *renderings) known(app types.NamespacedName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.byApp[app]
	return ok
}

// others returns the Applications besides app that render an object, by name.
func (r *renderings) others(app types.NamespacedName, server string, key manifest.Key) []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []types.NamespacedName
	for other := range r.byPlace[place{server, key}] {
		if other != app {
			names = append(names, other)
		}
	}
	slices.SortFunc(names, compareNames)
	return names
}
