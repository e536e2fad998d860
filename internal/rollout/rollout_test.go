// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/rollout/rollouttest"
)

// place is a cluster to roll out to, and how to wait there.
type place struct {
	*testing.T
	cluster   rollout.Cluster
	namespace string
	store     *memoryStore
	events    *eventLog
}

// inMemory runs a test on the cluster in memory, in a time of its own.
func inMemory(t *testing.T, f func(p *place, m *rollouttest.Memory)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := rollouttest.NewMemory(time.Now())
		m.Put(rollouttest.Object("Namespace", rollouttest.Namespace, ""))
		ctx, stop := context.WithCancel(t.Context())
		var clockwork sync.WaitGroup
		clockwork.Go(func() {
			ticker := time.NewTicker(50 * time.Millisecond)
			defer ticker.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case now := <-ticker.C:
					m.Tick(now)
				}
			}
		})
		defer clockwork.Wait()
		defer stop()
		f(&place{T: t, cluster: m, namespace: rollouttest.Namespace, store: &memoryStore{}, events: &eventLog{}}, m)
	})
}

// object returns an object in the place's namespace.
func (p *place) object(kind, name, fate string) *unstructured.Unstructured {
	u := rollouttest.Object(kind, name, fate)
	u.SetNamespace(p.namespace)
	return u
}

func (p *place) driver() *rollout.Driver {
	return rollout.New(p.cluster, rollout.Options{Events: p.events.add})
}

// operation returns an attempt at the groups; what the store holds is continued.
func (p *place) operation(id string, groups ...plan.Group) rollout.Operation {
	pl := rollouttest.Plan(groups...)
	pl.Namespace = p.namespace
	return rollout.Operation{App: "argocd/shop", ID: id, Attempt: 1, Plan: pl, State: p.store.load(p.T), Store: p.store}
}

// run carries an operation out to its end.
func (p *place) run(op rollout.Operation) rollout.Outcome {
	p.Helper()
	r := p.driver().Start(p.Context(), op)
	return p.await(r)
}

func (p *place) await(r *rollout.Run) rollout.Outcome {
	p.Helper()
	select {
	case <-r.Done():
		return r.Outcome()
	case <-time.After(2 * time.Minute):
		p.Fatalf("the run does not end; it says %q", r.Snapshot().Message)
		panic("unreachable")
	}
}

// until waits for an event on an object.
func (p *place) until(kind event.Type, name string) event.Event {
	p.Helper()
	return p.eventually(fmt.Sprintf("%s of %q", kind, name), func(e event.Event) bool {
		return e.Type == kind && e.Object.Name == name
	})
}

// eventually waits for an event.
func (p *place) eventually(what string, match func(event.Event) bool) event.Event {
	p.Helper()
	select {
	case e := <-p.events.first(match):
		return e
	case <-time.After(2 * time.Minute):
		p.Fatalf("no event %s; there were %v", what, p.events.lines())
		panic("unreachable")
	}
}

func (p *place) mustEnd(got rollout.Outcome, want machine.Phase) {
	p.Helper()
	if got.Abandoned || got.Err != nil || got.Phase != want {
		p.Fatalf("the run ended %+v, want phase %s", got, want)
	}
}

func (p *place) get(kind, name string) *unstructured.Unstructured {
	p.Helper()
	u, ok := p.cluster.Get(manifest.KeyOf(p.object(kind, name, "")))
	if !ok {
		return nil
	}
	return u
}

// memoryStore keeps the state as bytes, as a real store does.
type memoryStore struct {
	mu    sync.Mutex
	data  []byte
	saves int
	err   error
}

func (s *memoryStore) Save(_ context.Context, state rollout.State) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	data, err := state.Encode()
	if err != nil {
		return err
	}
	s.data = data
	s.saves++
	return nil
}

func (s *memoryStore) load(t *testing.T) rollout.State {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	state, err := rollout.DecodeState(s.data)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// eventLog collects events and lets tests wait for one.
type eventLog struct {
	mu     sync.Mutex
	events []event.Event
	asked  []waiter
}

type waiter struct {
	match func(event.Event) bool
	got   chan event.Event
}

func (l *eventLog) add(e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	for _, w := range l.asked {
		if w.match(e) {
			select {
			case w.got <- e:
			default:
			}
		}
	}
}

// first returns a channel that receives the first event that matches.
func (l *eventLog) first(match func(event.Event) bool) <-chan event.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := waiter{match: match, got: make(chan event.Event, 1)}
	l.asked = append(l.asked, w)
	if i := slices.IndexFunc(l.events, match); i >= 0 {
		w.got <- l.events[i]
	}
	return w.got
}

func (l *eventLog) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, e := range l.events {
		line := string(e.Type)
		if e.Object.Name != "" {
			line += " " + e.Object.Short()
		}
		out = append(out, line)
	}
	return out
}

// index returns the place of a line in the log, -1 if it is not there.
func (l *eventLog) index(line string) int { return slices.Index(l.lines(), line) }

// jsonOf is for comparing values whole.
func jsonOf(t *testing.T, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
