// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/plan/saved"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// Forecaster plans operations as the controller would, and writes nothing. What it
// has seen of clusters and repositories serves all of them. It is not safe for
// concurrent use.
type Forecaster struct {
	opts   Options
	client client.Client
	// by namespace of Applications.
	by map[string]*applications
}

// NewForecaster connects to nothing yet. Close it after use.
func NewForecaster(opts Options, c client.Client) *Forecaster {
	return &Forecaster{opts: opts, client: c, by: map[string]*applications{}}
}

// Close ends the connections to clusters.
func (f *Forecaster) Close() {
	for _, a := range f.by {
		a.end()
	}
}

// Forecast is what an operation would do now.
type Forecast struct {
	*pipeline.Comparison
	// Restless are the fields that every rendering gives another value.
	Restless []render.Restless
	// Configs are what the repositories say of themselves, if they were asked to be
	// kept.
	Configs []pipeline.Config
	// Saved is the plan in the form in which it can be handed to an operation.
	Saved saved.Plan
	// First is true when the Application has never been released.
	First bool
	// Released is true when what is rendered is what was released last.
	Released bool
	// Owners are the other Applications to which rendered objects belong in the cluster.
	Owners map[manifest.Key][]string
	// Took are the times that groups took in the last release.
	Took []machine.GroupTime
	// Refused says why the operation would not begin now, empty if it would.
	Refused string

	session *session
	op      v1alpha1.Operation
}

// Forecast plans an operation on an Application. App may name other revisions than
// spec, which is the Application as it stands in the cluster.
func (f *Forecaster) Forecast(ctx context.Context, app, spec *v1alpha1.Application, op v1alpha1.Operation) (*Forecast, error) {
	a := f.by[app.Namespace]
	if a == nil {
		var err error
		if a, err = bystander(f.opts, app.Namespace, f.client); err != nil {
			return nil, err
		}
		f.by[app.Namespace] = a
	}
	s, err := a.glance(ctx, app)
	if err != nil {
		return nil, err
	}
	return s.forecast(ctx, spec, op)
}

// Look returns an object of the destination, nil if there is none.
func (f *Forecast) Look(ctx context.Context, key manifest.Key) (*unstructured.Unstructured, error) {
	return look(ctx, f.session.dest, key)
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
		Comparison: comparison, Restless: desired.Restless(), Configs: desired.Configs,
		First: s.st.memory.Released == nil && len(s.app.Status.History) == 0, session: s, op: op,
		Released: s.completed() == s.release(desired),
	}
	if f.Owners, err = s.owners(ctx); err != nil {
		return nil, err
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
