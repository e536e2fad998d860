// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/report/findings"
	"github.com/wavetrain/wavetrain/internal/why"
)

// Run carries a case out. A step that cannot be carried out is an error with its
// file and line; what was seen until then is returned with it.
func Run(ctx context.Context, c *Case, opts Options) (result *Result, err error) {
	life, stop := context.WithCancel(ctx)
	w, err := start(life, c, opts)
	defer func() {
		stop()
		err = errors.Join(err, w.end())
		if w.recorder != nil {
			w.recorder.Wait()
		}
	}()
	if err != nil {
		return nil, err
	}
	for _, step := range c.Steps {
		if err = w.step(life, step); err != nil {
			break
		}
	}
	w.conclude(life)
	w.result.Converged = w.result.Converged && err == nil
	return w.result, err
}

// step waits until a step is due and carries it out.
func (w *world) step(ctx context.Context, s Step) error {
	if s.At > 0 {
		if err := sleep(ctx, s.At); err != nil {
			return err
		}
	}
	w.chronicle.step(w.now(), s.String())
	if err := w.do(ctx, s); err != nil {
		return s.wrap(err)
	}
	return nil
}

// conclude notes how things stand at the end.
func (w *world) conclude(ctx context.Context) {
	r, c := w.result, w.chronicle
	r.Final.Objects, r.Final.Apps = c.state()
	r.Converged = len(r.Unsettled) == 0
	for _, name := range slices.Sorted(maps.Keys(r.Final.Apps)) {
		app := r.Final.Apps[name]
		if app.Sync != "Synced" || app.Health != "Healthy" || app.Operation != "Succeeded" && app.Operation != "" {
			r.Hung = append(r.Hung, w.hang(ctx, name))
			r.Converged = false
		}
	}
	unready := map[string]bool{}
	for _, o := range r.Final.Objects {
		unready[o.Namespace+" "+o.Object] = o.Health != "" && o.Health != string(health.Healthy)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Events, r.Operations = append([]Event{}, c.events...), append([]Operation{}, c.operations...)
	r.Rollouts = w.rollouts.report(seenBeside{
		events: r.Events, named: c.named, end: w.now(),
		unready: func(namespace, object string) bool { return unready[namespace+" "+object] },
	})
	if r.Findings == nil {
		r.Findings = []findings.Finding{}
	}
	if r.Plan == nil {
		r.Plan = []Plan{}
	}
	if r.Checks == nil {
		r.Checks = []Check{}
	}
}

// explanation bounds how long the causes of a hang are looked for.
const explanation = 20 * time.Second

// hang says why an Application has not converged. What cannot be found out is left
// to what the Application says.
func (w *world) hang(ctx context.Context, name string) Hang {
	key := appName(name)
	h := Hang{Answer: why.Answer{App: name, Waits: true, Chains: [][]why.Link{}}, Text: []string{}}
	ctx, cancel := context.WithTimeout(ctx, explanation)
	defer cancel()
	app := &v1alpha1.Application{}
	if err := w.client.Get(ctx, key, app); err != nil {
		return h
	}
	if state := app.Status.OperationState; state != nil {
		h.Phase, h.Operation = string(state.Phase), state.Message
	}
	explainer, p := why.Explainer{}, (*plan.Plan)(nil)
	if preview, err := controller.NewPreview(ctx, w.controllerOptions(&atomic.Bool{}), w.client, app); err == nil {
		defer preview.Close()
		explainer, p = preview.Explainer(), preview.Plan
	} else {
		destination, end, err := controller.OpenDestination(ctx, w.controllerOptions(&atomic.Bool{}), w.client, app.Spec.Destination)
		if err != nil {
			h.Obstacles = why.Obstacles(app)
			h.Text = append(h.Text, h.Lines()...)
			return h
		}
		defer end()
		explainer.Cluster = destination
	}
	if answer, err := explainer.Application(ctx, app, p, nil); err == nil {
		h.Answer = answer
		h.App, h.Waits = name, true
	}
	h.Text = append(h.Text, h.Lines()...)
	return h
}
