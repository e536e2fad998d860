// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wavetrain/wavetrain/internal/report/findings"
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
		return w.result, err
	}
	for _, step := range c.Steps {
		if err = w.step(life, step); err != nil {
			break
		}
	}
	w.conclude()
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
	w.chronicle.step(time.Now(), s.String())
	if err := w.do(ctx, s); err != nil {
		return s.wrap(err)
	}
	return nil
}

// conclude notes how things stand at the end.
func (w *world) conclude() {
	r, c := w.result, w.chronicle
	r.Final.Objects, r.Final.Apps = c.state()
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Events, r.Operations = append([]Event{}, c.events...), append([]Operation{}, c.operations...)
	if r.Findings == nil {
		r.Findings = []findings.Finding{}
	}
	if r.Plan == nil {
		r.Plan = []Plan{}
	}
	if r.Checks == nil {
		r.Checks = []Check{}
	}
	r.Converged = len(r.Unsettled) == 0
	for name, app := range r.Final.Apps {
		switch {
		case app.Operation == "Running":
			r.Hung = append(r.Hung, fmt.Sprintf("%s: %s", name, app.Message))
			r.Converged = false
		case app.Sync != "Synced" || app.Health != "Healthy" || app.Operation != "Succeeded" && app.Operation != "":
			r.Converged = false
		}
	}
	slices.Sort(r.Hung)
}
