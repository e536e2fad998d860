// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/rollout/rollouttest"
)

// testRun is what both kinds of tests have.
type testRun interface {
	Fatalf(format string, args ...any)
	Context() context.Context
}

// world is a scenario on a cluster, driven like the driver does, but with
// crashes wherever one can happen.
type world struct {
	cluster *rollouttest.Memory
	plan    *plan.Plan
	start   time.Time
	now     time.Time
	// record is the attempt's end; saved is what would survive a crash.
	record machine.Record
	saved  []byte
	crash  func() bool
	before func(turn int, m *machine.Machine)
	// always is done to every machine before it is asked.
	always func(m *machine.Machine)
	// used are the names of objects that something uses; attempt counts from 1.
	used    map[string]bool
	attempt int
	// check looks at a write that is about to be made, ended at the end.
	check func(testRun, machine.Action)
	ended func(testRun)
	// limits of the machine, and what happens by itself at a given time.
	limits machine.Limits
	later  []happening
	// waits are all waits that were told, in order.
	waits []string
	// written are the steps that this attempt has written, over all crashes.
	written map[string]bool
	// blocked is what holds objects up while they are waited for.
	blocked map[string]string
}

func emptyWorld() *world {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	w := &world{
		cluster: rollouttest.NewMemory(start), start: start, now: start, written: map[string]bool{},
		crash: func() bool { return false }, before: func(int, *machine.Machine) {}, always: func(*machine.Machine) {},
		used: map[string]bool{}, attempt: 1,
		check: func(testRun, machine.Action) {}, ended: func(testRun) {},
	}
	w.cluster.Put(rollouttest.Object("Namespace", rollouttest.Namespace, ""))
	return w
}

// begin gives the world its plan.
func (w *world) begin(groups ...plan.Group) {
	w.plan = rollouttest.Plan(groups...)
	w.save(machine.NewRecord("op-7", 1, w.plan, w.now))
}

// retry begins another attempt of the operation.
func (w *world) retry() {
	w.attempt++
	w.written = map[string]bool{}
	w.save(machine.NewRecord("op-7", w.attempt, w.plan, w.now))
}

// mark is on the hooks of the present attempt.
func (w *world) mark() string { return fmt.Sprintf("op-7/%d", w.attempt) }

func (w *world) save(rec machine.Record) {
	data, err := json.Marshal(rec)
	if err != nil {
		panic(err)
	}
	w.saved = data
}

// restart is what a new process does: it reads the record and plans again, which
// leaves out prunes that are done.
func (w *world) restart() *machine.Machine {
	var rec machine.Record
	if err := json.Unmarshal(w.saved, &rec); err != nil {
		panic(err)
	}
	p := *w.plan
	p.Groups = nil
	for _, g := range w.plan.Groups {
		var steps []plan.Step
		for _, s := range g.Steps {
			if _, live := w.cluster.Get(s.Key); s.Action != plan.Prune || live {
				steps = append(steps, s)
			}
		}
		if len(steps) > 0 {
			p.Groups = append(p.Groups, plan.Group{Phase: g.Phase, Wave: g.Wave, Steps: steps})
		}
	}
	return machine.New(&p, rec, w.limits)
}

func (w *world) observe(key manifest.Key) machine.Observation {
	u, _ := w.cluster.Get(key)
	o := machine.Observe(u, nil, health.Context{})
	if o.Health.Status == health.Progressing {
		o.Blocked = w.blocked[key.Name]
	}
	return o
}

func (w *world) run(t testRun) {
	m := w.restart()
	for turn := range maxTurns {
		w.before(turn, m)
		w.always(m)
		d := m.Next(w.observe, w.now)
		if w.crash() {
			m = w.restart()
			continue
		}
		for _, e := range d.Events {
			if e.Type == event.Waiting {
				w.waits = append(w.waits, e.Message)
			}
		}
		if d.Save {
			w.save(m.Record())
		}
		if d.Finished {
			w.record = m.Record()
			w.ended(t)
			return
		}
		if w.crash() {
			m = w.restart()
			continue
		}
		if len(d.Actions) == 0 {
			w.sleep(t, d.WakeAt)
			continue
		}
		if !w.act(t, m, d.Actions) {
			m = w.restart()
		}
	}
	t.Fatalf("no end after %d turns; waiting for %v", maxTurns, m.Wait())
}

// act carries actions out; it returns false if the process died among them.
func (w *world) act(t testRun, m *machine.Machine, actions []machine.Action) bool {
	for _, a := range actions {
		r := machine.Result{Action: a}
		var err error
		switch a.Kind {
		case machine.Apply, machine.CreateHook:
			w.check(t, a)
			w.written[a.Step] = true
			err = w.write(a, &r)
		case machine.Delete:
			w.check(t, a)
			if a.Release {
				err = w.cluster.RemoveFinalizer(t.Context(), a.Key, manifest.HookFinalizer)
			}
			if err == nil {
				err = w.cluster.Delete(t.Context(), a.Key, deleteOptions(a))
			}
		case machine.Release:
			err = w.cluster.RemoveFinalizer(t.Context(), a.Key, manifest.HookFinalizer)
		}
		if err != nil {
			r.Err = err.Error()
		}
		if w.crash() {
			return false
		}
		m.Report(r)
	}
	return true
}

// happening is something that happens by itself.
type happening struct {
	after time.Duration
	do    func()
}

// sleep moves time on to the next thing that happens.
func (w *world) sleep(t testRun, wake time.Time) {
	next, ok := w.cluster.NextAt()
	if len(w.later) > 0 {
		if at := w.start.Add(w.later[0].after); !ok || at.Before(next) {
			next, ok = at, true
		}
	}
	if !wake.IsZero() && (!ok || wake.Before(next)) {
		next, ok = wake, true
	}
	if !ok {
		t.Fatalf("the machine waits for something that cannot come")
	}
	if next.After(w.now) {
		w.now = next
	}
	w.cluster.Tick(w.now)
	for len(w.later) > 0 && !w.start.Add(w.later[0].after).After(w.now) {
		w.later[0].do()
		w.later = w.later[1:]
	}
}

// write carries out an Apply or CreateHook.
func (w *world) write(a machine.Action, r *machine.Result) error {
	var live *unstructured.Unstructured
	var err error
	if a.Kind == machine.Apply {
		live, err = w.cluster.Apply(context.Background(), a.Object, cluster.ApplyOptions{})
	} else {
		live, err = w.cluster.Create(context.Background(), a.Object, cluster.ApplyOptions{})
		if apierrors.IsAlreadyExists(err) {
			live, err = w.cluster.Fetch(context.Background(), a.Key, a.Version)
		}
	}
	if err != nil {
		return err
	}
	r.Live, r.Message = machine.Observe(live, nil, health.Context{}), machine.Accepted(a.Key, "created")
	return nil
}

func deleteOptions(a machine.Action) cluster.DeleteOptions {
	return cluster.DeleteOptions{UID: a.UID, Propagation: metav1.DeletePropagationForeground}
}
