// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// Live is what is known of a cluster.
type Live struct {
	// Plan is the one that a sync would carry out.
	Plan *plan.Plan
	// First is true when the application has never been released.
	First bool
	// Was returns the object that a step finds, nil if there is none.
	Was func(plan.Step) *unstructured.Unstructured
	// Changes are the fields in which it differs.
	Changes func(plan.Step) []diff.Change
	// Replaces tells whether it would be deleted and made anew, Refusal what the
	// API server has against what is desired.
	Replaces func(plan.Step) bool
	Refusal  func(plan.Step) string
	// Took are the times that groups took in the last release.
	Took []Took
}

// Took is how long a group took in the last release, and which object was waited for
// last.
type Took struct {
	Phase  string
	Wave   int
	Time   time.Duration
	Object string
}

// OnCluster works out what a sync would do. It never is nil: an application to which
// nothing happens has no step that Acts.
func OnCluster(name string, in Live) *App {
	what := Changed
	if in.First {
		what = New
	}
	a := newApp(name, what, in.Plan)
	a.fill(live{in})
	a.Expected = a.Expected.with(in.Took)
	return a
}

// live compares with a cluster.
type live struct{ Live }

func (l live) was(s plan.Step) *unstructured.Unstructured { return l.Was(s) }
func (l live) replaces(s plan.Step) bool                  { return l.Replaces(s) }
func (l live) refusal(s plan.Step) string                 { return l.Refusal(s) }

func (l live) changes(s plan.Step) []diff.Change {
	was := l.Was(s)
	if s.Action == plan.Hook && was != nil {
		// A hook is made anew: what differs is what is written about it.
		return nil
	}
	return l.Changes(s)
}
