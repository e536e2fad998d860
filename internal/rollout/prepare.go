// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/cluster"
)

// prepare has the plan's kinds watched and, in an attempt that begins, checks
// the plan before anything is written.
func (r *Run) prepare(ctx context.Context) error {
	problem, err := r.check(ctx)
	if err != nil {
		return r.ended(ctx, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.record.Outcome != nil:
	case problem != nil:
		r.machine.Reject(problem.message, problem.steps, problem.retry, r.driver.opts.Clock.Now())
	default:
		r.machine.Checked()
	}
	return nil
}

func (r *Run) check(ctx context.Context) (*problem, error) {
	unserved, err := r.watchKinds(ctx)
	switch {
	case errors.Is(err, errInterrupted):
		return nil, err
	case err != nil:
		return &problem{message: "the destination cannot be watched: " + worded(err), retry: true}, nil
	case r.record.Checked || r.record.Outcome != nil:
		return nil, nil
	}
	if p := r.localProblems(unserved); p != nil {
		return p, nil
	}
	found, err := r.rehearse(ctx)
	if found == nil && err == nil && r.op.AsPlanned != nil {
		if moved := r.op.AsPlanned(); moved != "" {
			return &problem{message: moved}, nil
		}
	}
	return found, err
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
// tells about it as far as that may be read. It returns the kinds that the cluster
// does not serve and that will not come.
func (r *Run) watchKinds(ctx context.Context) ([]schema.GroupKind, error) {
	var unserved []schema.GroupKind
	err := r.try(ctx, "watch the kinds of the plan", func(ctx context.Context) error {
		err := r.cluster.Watch(ctx, r.index.kinds...)
		unserved, r.late = nil, nil
		var failed *cluster.WatchError
		if !errors.As(err, &failed) {
			return err
		}
		for _, k := range failed.Kinds {
			if !r.index.needed[k.Kind] && apierrors.IsForbidden(k.Err) {
				continue
			}
			if !cluster.IsUnknownKind(k.Err) {
				return err
			}
			if !r.index.comes(k.Kind) {
				unserved = append(unserved, k.Kind)
			}
			if r.index.outside[k.Kind] {
				r.late = append(r.late, k.Kind)
			}
		}
		return nil
	})
	r.settled()
	return unserved, err
}
