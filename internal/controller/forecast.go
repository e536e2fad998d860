// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/plan/saved"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// Forecast is what an operation would do now.
type Forecast struct {
	*Preview
	// Saved is the plan in the form in which it can be handed to an operation.
	Saved saved.Plan
	// First is true when the Application has never been released.
	First bool
	// Released is true when what is rendered is what was released last.
	Released bool
	// Took are the times that groups took in the last release.
	Took []machine.GroupTime
	// Refused says why the operation would not begin now, empty if it would.
	Refused string

	session *session
	op      v1alpha1.Operation
}

// NewForecast plans an operation on an Application as the controller would, and
// writes nothing. App may name other revisions than spec, which is the Application
// as it stands in the cluster. Close the forecast after use.
func NewForecast(ctx context.Context, opts Options, c client.Client, app, spec *v1alpha1.Application, op v1alpha1.Operation) (*Forecast, error) {
	s, err := newGlance(ctx, opts, c, app)
	if err != nil {
		return nil, err
	}
	f, err := s.forecast(ctx, spec, op)
	if err != nil {
		s.end()
		return nil, err
	}
	return f, nil
}

func (s *session) forecast(ctx context.Context, spec *v1alpha1.Application, op v1alpha1.Operation) (*Forecast, error) {
	if err := s.remember(ctx); err != nil {
		return nil, err
	}
	s.comparing = true
	s.observe(ctx)
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	desired := s.st.head
	if s.comparison == nil || desired == nil || s.unknownSources() {
		if len(s.problems) == 0 {
			return nil, fmt.Errorf("application %s cannot be compared", nameOf(s.app))
		}
		return nil, errors.New(s.problems[0].Message)
	}
	comparison, err := s.compare(ctx, desired, op)
	if err != nil {
		return nil, err
	}
	s.refuseShared(comparison.Plan, op)
	f := &Forecast{
		Preview: &Preview{Comparison: comparison, Restless: desired.Restless(), apps: s.applications, dest: s.dest},
		First:   s.st.memory.Released == nil && len(s.app.Status.History) == 0, session: s, op: op,
		Released: s.completed() == s.release(desired),
	}
	if f.Saved, err = s.savedPlan(spec, desired, comparison); err != nil {
		return nil, err
	}
	if released := s.st.memory.Released; released != nil {
		f.Took = released.Took
	}
	if d := s.window(op, time.Time{}); !d.Allowed {
		f.Refused = blockedByWindow + d.Reason
	}
	return f, nil
}

// Replaces tells whether a step puts its object in the place of the one that is
// there instead of merging the two, or deletes that one because it cannot be
// changed.
func (f *Forecast) Replaces(step plan.Step) bool {
	live := f.Live[step.Key]
	if step.Object == nil || step.Action != plan.Update || live == nil {
		return false
	}
	how := f.session.writePolicy(f.op).For(step.Object.Unstructured, live)
	return how.Method == cluster.Replace || how.Force && f.Verdicts[step.Key].Rejected != ""
}
