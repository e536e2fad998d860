// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/rollout"
)

// maxPlaces is how many automated operations on a cluster may wait for their first
// call at once. Each holds the decoded objects of its Application while it waits, and
// the cluster does not take them any quicker for there being more.
const maxPlaces = 2 * rollout.DefaultWrites

// placeWithin is how long an Application may wait for a place without a word.
const placeWithin = time.Minute

// places bounds how many automated operations wait for the turn of their first call.
// Applications that find no place are called, in the order in which they came, when
// there is one: a thousand that are made at once are not all planned at once.
type places struct {
	mu sync.Mutex
	// taken counts places by cluster: those of operations, of looks that may begin one,
	// and of Applications that were called.
	taken map[string]int
	// waiting are the Applications without a place, by cluster; called are those that
	// have one and have not been looked at yet, with their cluster.
	waiting map[string][]types.NamespacedName
	called  map[types.NamespacedName]string
	// wake has Applications looked at.
	wake func(...types.NamespacedName)
}

func newPlaces(wake func(...types.NamespacedName)) *places {
	return &places{taken: map[string]int{}, waiting: map[string][]types.NamespacedName{}, called: map[types.NamespacedName]string{}, wake: wake}
}

// take reports whether there is a place for an Application; if not, it is called
// later.
func (p *places) take(server string, name types.NamespacedName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, called := p.called[name]; called && at == server {
		delete(p.called, name)
		return true
	}
	if p.taken[server] < maxPlaces {
		p.taken[server]++
		return true
	}
	if !slices.Contains(p.waiting[server], name) {
		p.waiting[server] = append(p.waiting[server], name)
	}
	return false
}

// give gives a place back.
func (p *places) give(server string) {
	p.mu.Lock()
	p.taken[server]--
	var names []types.NamespacedName
	for p.taken[server] < maxPlaces && len(p.waiting[server]) > 0 {
		next := p.waiting[server][0]
		p.waiting[server] = p.waiting[server][1:]
		if _, called := p.called[next]; !called {
			p.called[next] = server
			p.taken[server]++
			names = append(names, next)
		}
	}
	if len(p.waiting[server]) == 0 {
		delete(p.waiting, server)
	}
	if p.taken[server] == 0 {
		delete(p.taken, server)
	}
	p.mu.Unlock()
	p.wake(names...)
}

// looked notes that an Application was looked at. If it was called and did not take
// its place, the next one gets it.
func (p *places) looked(name types.NamespacedName) {
	p.mu.Lock()
	server, called := p.called[name]
	delete(p.called, name)
	p.mu.Unlock()
	if called {
		p.give(server)
	}
}

// comesLater tells whether a look is put off: the first one at an Application that
// automation is likely to deliver, while there is no place for that. It is not put
// off for long, its status is to say how it stands.
func (s *session) comesLater(ctx context.Context) bool {
	if s.st.desired != nil || s.ended != nil || s.app.Operation != nil || s.app.Status.OperationState != nil || !s.app.Spec.AutomatedEnabled() {
		return false
	}
	dest, err := s.destinations.get(ctx, s.life, s.app.Spec.Destination)
	if err != nil || !s.pastLimit(dest.Server) || !s.now.Before(s.showBy()) {
		return false
	}
	s.by(s.showBy())
	return true
}

// takesPlace reports whether an automated operation may begin.
func (s *session) takesPlace() bool {
	s.postponed = s.place == "" && s.pastLimit(s.dest.Server)
	return !s.postponed
}

// pastLimit reports whether there is no place on a cluster. If there is one, the look
// has it.
func (s *session) pastLimit(server string) bool {
	if s.places.take(server, nameOf(s.app)) {
		s.place, s.st.queued = server, time.Time{}
		return false
	}
	if s.st.queued.IsZero() {
		s.st.queued = s.now
	}
	return true
}

// showBy is until when an Application that waits for a place need not say so.
func (s *session) showBy() time.Time { return s.st.queued.Add(placeWithin) }

// leavesPlace gives back what the look has not handed to an operation.
func (s *session) leavesPlace() {
	if s.place != "" {
		s.places.give(s.place)
	}
}
