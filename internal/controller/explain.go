// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/verify"
	"github.com/wavetrain/wavetrain/internal/why"
)

// planned says what the plan itself knows of why an object does not get on: that it
// waits for something of a later phase. The plan is looked through when somebody asks
// for the first time, which most rollouts never do.
func planned(p *plan.Plan) func(manifest.Key) string {
	known := sync.OnceValue(func() map[manifest.Key]string {
		texts := map[manifest.Key]string{}
		for _, f := range verify.Deadlocks(p) {
			if texts[f.Subject] == "" {
				texts[f.Subject] = f.Message
			}
		}
		return texts
	})
	return func(key manifest.Key) string { return known()[key] }
}

// rendered are the objects of a plan.
func rendered(p *plan.Plan) []manifest.Object {
	var objects []manifest.Object
	for _, g := range p.Groups {
		for _, step := range g.Steps {
			if step.Object != nil {
				objects = append(objects, *step.Object)
			}
		}
	}
	return objects
}

// placed says where the objects of a plan stand.
func placed(p *plan.Plan) map[manifest.Key]string {
	places := map[manifest.Key]string{}
	for _, g := range p.Groups {
		for _, step := range g.Steps {
			if _, earlier := places[step.Key]; !earlier && step.Object != nil && step.Action != plan.Prune && step.Action != plan.SkipPrune {
				places[step.Key] = fmt.Sprintf("%s/%d", g.Phase, g.Wave)
			}
		}
	}
	return places
}

// explainer says in one line what an object of the plan waits for in the end.
func (s *session) explainer(p *plan.Plan) func(context.Context, manifest.Key) string {
	on, judge := s.dest.Cluster, s.judge()
	e := sync.OnceValue(func() why.Explainer {
		return why.Explainer{Cluster: on, Produced: why.Produced(rendered(p)), Placed: placed(p), Judge: judge, Planned: planned(p)}
	})
	return func(ctx context.Context, key manifest.Key) string {
		chain, err := e().Explain(ctx, key)
		if err != nil {
			return ""
		}
		return why.Message(chain)
	}
}

// Explainer finds out why objects of the Application do not get on.
func (p *Preview) Explainer() why.Explainer {
	return why.Explainer{
		Cluster: p.dest.Cluster, Produced: why.Produced(rendered(p.Plan)), Placed: placed(p.Plan), Judge: p.apps.judgeOn(p.dest), Planned: planned(p.Plan),
	}
}
