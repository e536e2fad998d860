// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// Options of a Driver. The zero value works.
type Options struct {
	// Clock defaults to the real one.
	Clock clock.Clock
	// Events receives the progress of all runs; nil drops it.
	Events event.Sink
	// Concurrency is how many writes one operation makes at a time. Defaults to 8.
	Concurrency int
	// Queue bounds the calls of all operations on the cluster together. Defaults to
	// one of the driver's own.
	Queue *Queue
	// Limits of operations that set none.
	Limits machine.Limits
	// Custom judges the kinds that people wrote health rules for; may be nil. After
	// its answers have changed, a run has to Reconsider.
	Custom health.Custom
	// Pace of telling what is waited for; zero values have the defaults.
	Pace Pace
}

// Driver carries out operations on one cluster.
type Driver struct {
	cluster Cluster
	opts    Options
}

// New returns a driver for the cluster.
func New(cluster Cluster, opts Options) *Driver {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	if opts.Events == nil {
		opts.Events = func(event.Event) {}
	}
	if opts.Concurrency <= 0 {
		opts.Concurrency = 8
	}
	opts.Pace = opts.Pace.WithDefaults()
	if opts.Queue == nil {
		opts.Queue = NewQueue(0)
	}
	return &Driver{cluster: cluster, opts: opts}
}

// Operation is one attempt to carry out a plan.
type Operation struct {
	// App is the namespaced name of the Application, for events.
	App string
	// ID of the operation; Attempt counts from 1.
	ID      string
	Attempt int
	Plan    *plan.Plan
	// State as it was loaded. If it holds an unfinished record of this ID and
	// attempt for the same rendered set, the attempt is continued.
	State State
	Store Store
	// Spec is a digest of what the release was made from besides the rendered set;
	// it is kept with a completed release.
	Spec string
	// Automated operations make way for those that a person asked for.
	Automated bool
	// Partial operations do not count as a release.
	Partial bool
	// Limits default to the driver's.
	Limits *machine.Limits
	// Write is how objects are written that do not say otherwise.
	Write cluster.Policy
	// Respect, if given, are the ignore rules whose fields are left as they are on
	// objects that exist.
	Respect *diff.Options
	// Explain, if given, says in one line why an object that is waited for does not
	// get on, as far down as can be seen. It may ask the cluster.
	Explain func(context.Context, manifest.Key) string
	// Unrehearsed leaves out the trial of every step before the first write; what
	// can be checked without the API server is checked all the same.
	Unrehearsed bool
	// AsPlanned, if given, is asked right before the first write and says what has
	// changed since the plan was made; then nothing is written.
	AsPlanned func() string
	// Confirmed allows the prunes that need a confirmation.
	Confirmed bool
	// Propagation of prunes; defaults to foreground.
	Propagation metav1.DeletionPropagation
}

// Start begins or continues the operation in a goroutine of its own. When ctx
// ends, the run is abandoned and can be continued later.
func (d *Driver) Start(ctx context.Context, op Operation) *Run {
	r := d.newRun(op)
	ctx, r.cancel = context.WithCancel(ctx)
	go r.run(ctx)
	return r
}
