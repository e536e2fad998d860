// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/render"
)

// counters are the controller's own metrics: what a commit has cost.
type counters struct {
	renderings prometheus.Counter
	revisions  *prometheus.CounterVec
}

func newCounters() counters {
	return counters{
		renderings: registered(prometheus.NewCounter(prometheus.CounterOpts{
			Name: "wavetrain_renderings_total", Help: "Sources that were rendered, because nothing that is known told what comes out.",
		})),
		revisions: registered(prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "wavetrain_revisions_total", Help: "Applications for which it was decided whether a new revision affects them.",
		}, []string{"affected"})),
	}
}

// registered has a metric served. Controllers of one process share it.
func registered[T prometheus.Collector](metric T) T {
	err := metrics.Registry.Register(metric)
	if known, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if existing, ok := known.ExistingCollector.(T); ok {
			return existing
		}
	}
	return metric
}

// decided notes whether a new revision affects an Application.
func (c counters) decided(affected bool) {
	c.revisions.WithLabelValues(strconv.FormatBool(affected)).Inc()
}

// counting has renderings counted.
func (c counters) counting(rendering pipeline.Rendering) pipeline.Rendering {
	next := rendering.Render
	if next == nil {
		next = render.Render
	}
	rendering.Render = func(ctx context.Context, src render.Source, target render.Target) (render.Result, error) {
		c.renderings.Inc()
		return next(ctx, src, target)
	}
	return rendering
}
