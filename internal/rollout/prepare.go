// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// prepare has the plan's kinds watched and, in an attempt that begins, checks
// the plan before anything is written.
func (r *Run) prepare(ctx context.Context) error {
	unserved, err := r.watchKinds(ctx)
	if err != nil {
		return r.ended(ctx, err)
	}
	r.mu.Lock()
	checked := r.record.Checked || r.record.Outcome != nil
	r.mu.Unlock()
	if checked {
		return nil
	}
	problem := r.localProblems(unserved)
	if problem == nil {
		if problem, err = r.rehearse(ctx); err != nil {
			return r.ended(ctx, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if problem != nil {
		r.machine.Reject(problem.message, problem.steps, problem.retry, r.driver.opts.Clock.Now())
		return nil
	}
	r.machine.Checked()
	return nil
}

// ended turns an interruption into an error only if the run was abandoned: a
// stop is the machine's to handle.
func (r *Run) ended(ctx context.Context, err error) error {
	if errors.Is(err, errInterrupted) {
		return ctx.Err()
	}
	return err
}

// problem is why a plan is not begun.
type problem struct {
	message string
	// steps are the messages for single steps, by id.
	steps map[string]string
	retry bool
}

// watchKinds has everything watched that the plan writes or waits for, and what
// tells about it. It returns the kinds that neither the cluster serves nor the
// plan defines.
func (r *Run) watchKinds(ctx context.Context) ([]schema.GroupKind, error) {
	var unserved []schema.GroupKind
	for _, gk := range r.index.kinds {
		err := r.try(ctx, "watch "+gk.String(), func(ctx context.Context) error {
			err := r.watched.ensure(ctx, r.cluster, gk)
			if _, known := r.cluster.Scope(gk); err != nil && !known {
				return permanent{err}
			}
			return err
		})
		if err == nil {
			continue
		}
		if errors.Is(err, errInterrupted) {
			return nil, err
		}
		if !r.index.defines[gk] {
			unserved = append(unserved, gk)
		}
	}
	r.settled()
	return unserved, nil
}
