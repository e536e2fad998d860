// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"crypto/sha256"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// renderings knows which Applications render which object of which cluster. It
// is made from rendered sets, not from marks on live objects.
type renderings struct {
	mu sync.Mutex
	register
}

func newRenderings() *renderings { return &renderings{register: newRegister()} }

// set replaces what the Application renders. It returns the others to which that
// makes a difference: those that render an object which came or went.
func (r *renderings) set(app types.NamespacedName, server string, keys []manifest.Key) []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.replace(app, placesOf(server, keys))
}

// remove forgets the Application; it returns the others to which that makes a
// difference.
func (r *renderings) remove(app types.NamespacedName) []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.forget(app)
}

// known reports whether the Application has been looked at since this process
// began.
func (r *renderings) known(app types.NamespacedName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.numbers[app]
	return ok
}

// others returns the Applications besides app that render an object, by name.
func (r *renderings) others(app types.NamespacedName, server string, key manifest.Key) []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := slices.DeleteFunc(r.at(placeOf(server, key)), func(name types.NamespacedName) bool { return name == app })
	slices.SortFunc(names, compareNames)
	return names
}

// holders returns the Applications that render an object.
func (r *renderings) holders(at place) []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at(at)
}

// includes reports whether the Application renders an object.
func (r *renderings) includes(app types.NamespacedName, at place) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.has(app, at)
}

// place stands for an object on a cluster. There is one for every object that any
// Application renders: it is a digest because the words would weigh ten times as
// much.
type place [16]byte

func placeOf(server string, key manifest.Key) place {
	text := make([]byte, 0, 256)
	for _, part := range []string{server, key.Group, key.Kind, key.Namespace, key.Name} {
		text = append(append(text, part...), 0)
	}
	sum := sha256.Sum256(text)
	return place(sum[:16])
}

func placesOf(server string, keys []manifest.Key) []place {
	places := make([]place, 0, len(keys))
	for _, key := range keys {
		places = append(places, placeOf(server, key))
	}
	slices.SortFunc(places, comparePlaces)
	return slices.Compact(places)
}

func comparePlaces(a, b place) int { return slices.Compare(a[:], b[:]) }

// register says which Applications have to do with which objects, both ways. Most
// objects have to do with one Application.
type register struct {
	// numbers stand for Applications; names is the way back, free are numbers out
	// of use.
	numbers map[types.NamespacedName]uint32
	names   []types.NamespacedName
	free    []uint32
	first   map[place]uint32
	// more are the Applications besides the first.
	more map[place][]uint32
	// of holds the places of each Application, in order.
	of map[uint32][]place
}

func newRegister() register {
	return register{
		numbers: map[types.NamespacedName]uint32{}, first: map[place]uint32{},
		more: map[place][]uint32{}, of: map[uint32][]place{},
	}
}

// replace sets the places of an Application, which come in order. It returns the
// other Applications at places that came or went.
func (r *register) replace(app types.NamespacedName, next []place) []types.NamespacedName {
	n, ok := r.numbers[app]
	if !ok {
		if last := len(r.free) - 1; last >= 0 {
			n, r.free = r.free[last], r.free[:last]
			r.names[n] = app
		} else {
			n = uint32(len(r.names)) //nolint:gosec // nobody has four billion Applications
			r.names = append(r.names, app)
		}
		r.numbers[app] = n
	}
	concerned := map[uint32]bool{}
	before := r.of[n]
	for _, at := range before {
		if _, stays := slices.BinarySearchFunc(next, at, comparePlaces); !stays {
			r.drop(at, n)
			r.note(at, concerned)
		}
	}
	for _, at := range next {
		if _, was := slices.BinarySearchFunc(before, at, comparePlaces); !was {
			r.note(at, concerned)
			r.put(at, n)
		}
	}
	r.of[n] = slices.Clip(next)
	names := make([]types.NamespacedName, 0, len(concerned))
	for other := range concerned {
		names = append(names, r.names[other])
	}
	return names
}

// forget drops an Application; it returns the others at its places.
func (r *register) forget(app types.NamespacedName) []types.NamespacedName {
	n, ok := r.numbers[app]
	if !ok {
		return nil
	}
	others := r.replace(app, nil)
	delete(r.of, n)
	delete(r.numbers, app)
	r.names[n] = types.NamespacedName{}
	r.free = append(r.free, n)
	return others
}

func (r *register) put(at place, n uint32) {
	if _, taken := r.first[at]; taken {
		r.more[at] = append(r.more[at], n)
		return
	}
	r.first[at] = n
}

func (r *register) drop(at place, n uint32) {
	rest := r.more[at]
	if r.first[at] == n {
		if len(rest) == 0 {
			delete(r.first, at)
			return
		}
		r.first[at], rest = rest[0], rest[1:]
	} else {
		rest = slices.DeleteFunc(rest, func(other uint32) bool { return other == n })
	}
	if r.more[at] = rest; len(rest) == 0 {
		delete(r.more, at)
	}
}

func (r *register) note(at place, concerned map[uint32]bool) {
	if n, ok := r.first[at]; ok {
		concerned[n] = true
		for _, other := range r.more[at] {
			concerned[other] = true
		}
	}
}

// at returns the Applications at a place.
func (r *register) at(at place) []types.NamespacedName {
	n, ok := r.first[at]
	if !ok {
		return nil
	}
	names := []types.NamespacedName{r.names[n]}
	for _, other := range r.more[at] {
		names = append(names, r.names[other])
	}
	return names
}

// has reports whether an Application is at a place.
func (r *register) has(app types.NamespacedName, at place) bool {
	n, ok := r.numbers[app]
	if !ok {
		return false
	}
	_, has := slices.BinarySearchFunc(r.of[n], at, comparePlaces)
	return has
}
