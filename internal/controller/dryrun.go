// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/rollout"
	"github.com/wavetrain/wavetrain/internal/status"
)

// dryRunTimeout bounds an operation that writes nothing.
const dryRunTimeout = 2 * time.Minute

// dryRun carries out an operation that writes nothing, from beginning to end: it
// leaves results on the status and nothing in the record, so that automation
// takes no notice of it.
func (s *session) dryRun(ctx context.Context, op v1alpha1.Operation, desired *pipeline.Desired) error {
	comparison, err := s.compare(ctx, desired, op)
	if err != nil {
		s.reject(op, err.Error())
		return nil
	}
	s.refuseShared(comparison.Plan, op)
	tryCtx, cancel := context.WithTimeoutCause(ctx, dryRunTimeout, fmt.Errorf("no answer within %s", dryRunTimeout))
	defer cancel()
	op.Info = withOperationID(op.Info, newOperationID())
	run := &operationRun{id: operationID(op), request: op, desired: desired, sources: operationSources(s.app, op), plan: comparison.Plan}
	outcome, results, err := s.driver().DryRun(tryCtx, rollout.Operation{
		App: nameOf(s.app).String(), ID: run.id, Attempt: 1, Plan: comparison.Plan,
		Write: s.writePolicy(op), Respect: respected(op, comparison), Propagation: operationPropagation(op),
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		s.reject(op, "dry run: "+err.Error())
		return nil
	}
	rows, dropped := status.Results(comparison.Plan, results, status.MaxResults)
	s.st.dropped = dropped
	finished := metav1.NewTime(s.opts.Clock.Now())
	s.app.Status.OperationState = &v1alpha1.OperationState{
		Operation: op, Phase: v1alpha1.OperationPhase(outcome.Phase), Message: outcome.Message,
		StartedAt: metav1.NewTime(s.now), FinishedAt: &finished, SyncResult: s.syncResult(run, rows),
	}
	s.app.Operation = nil
	return nil
}
