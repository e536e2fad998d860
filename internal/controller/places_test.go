// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func appNamed(format string, args ...any) types.NamespacedName {
	return types.NamespacedName{Namespace: "apps", Name: fmt.Sprintf(format, args...)}
}

// Who finds no place is called in order as places become free.
func TestPlacesAreGivenInOrder(t *testing.T) {
	var called []types.NamespacedName
	p := newPlaces(func(names ...types.NamespacedName) { called = append(called, names...) })
	for i := range maxPlaces {
		if !p.take("a", appNamed("in-%d", i)) {
			t.Fatalf("place %d of %d is refused", i, maxPlaces)
		}
	}
	first, second, third := appNamed("first"), appNamed("second"), appNamed("third")
	for _, name := range []types.NamespacedName{first, second, first, third} {
		if p.take("a", name) {
			t.Fatalf("%s has a place though all are taken", name)
		}
	}
	if !p.take("b", first) {
		t.Error("another cluster has places of its own")
	}
	p.give("a")
	if !slices.Equal(called, []types.NamespacedName{first}) {
		t.Errorf("called %v, want the one that came first", called)
	}
	if p.take("a", appNamed("late")) {
		t.Error("the place of who was called is taken by somebody else")
	}
	if !p.take("a", first) {
		t.Error("who was called has no place")
	}
	p.looked(first)
	if len(called) != 1 {
		t.Errorf("called %v though no place was given back", called)
	}
	p.give("a")
	p.looked(second)
	if !slices.Equal(called, []types.NamespacedName{first, second, third}) {
		t.Errorf("called %v: who does not take the place makes room", called)
	}
}

// Nothing is left over when all places were given back.
func TestPlacesForgetWhoIsDone(t *testing.T) {
	var called []types.NamespacedName
	p := newPlaces(func(names ...types.NamespacedName) { called = append(called, names...) })
	const apps = 3*maxPlaces + 1
	var inside int
	for i := range apps {
		if p.take("a", appNamed("app-%d", i)) {
			inside++
		}
	}
	for range inside {
		p.give("a")
	}
	for len(called) > 0 {
		name := called[0]
		called = called[1:]
		if !p.take("a", name) {
			t.Fatalf("%s was called and has no place", name)
		}
		p.looked(name)
		p.give("a")
		inside++
	}
	if inside != apps {
		t.Errorf("%d of %d Applications had a place", inside, apps)
	}
	if len(p.taken)+len(p.waiting)+len(p.called) > 0 {
		t.Errorf("left over: %d taken, %d waiting, %d called", len(p.taken), len(p.waiting), len(p.called))
	}
}
