// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/inventory"
	"github.com/wavetrain/wavetrain/internal/pipeline"
)

// planned is the plan of an operation: made from what the look has found out, if the
// operation is about the same.
func (s *session) planned(ctx context.Context, desired *pipeline.Desired, op v1alpha1.Operation) (*pipeline.Comparison, error) {
	if s.comparison == nil || s.compared != desired {
		return s.compare(ctx, desired, op)
	}
	comparison, ok := s.comparison.Replanned(s.writePolicy(op), s.operationOptions(op))
	if !ok {
		return s.compare(ctx, desired, op)
	}
	s.refuseForbidden(comparison.Plan)
	s.refuseUnidentified(comparison.Plan)
	return comparison, nil
}

// compare compares with the cluster in view of what an operation would do.
func (s *session) compare(ctx context.Context, desired *pipeline.Desired, op v1alpha1.Operation) (*pipeline.Comparison, error) {
	var entries []inventory.Entry
	for _, e := range s.st.memory.Owned() {
		entries = append(entries, inventory.Entry{Key: e.Key, UID: e.UID})
	}
	if err := s.loadProject(ctx); err != nil {
		return nil, err
	}
	comparison, err := s.comparer.Compare(ctx, s.permitted(), pipeline.Subject{
		App: s.instance, Server: s.dest.Server, Namespace: s.app.Spec.Destination.Namespace,
		Desired: desired, Options: s.operationOptions(op), Write: s.writePolicy(op),
		Tracking: s.settings.Tracking, Rules: s.compareRules(), Ignore: s.app.Spec.IgnoreDifferences, Tolerant: s.settings.RespectRBAC, Inventory: entries, Elsewhere: s.renderedElsewhere,
		Excluded: s.excludes, Renew: s.ownOptions().Has(optionRenew),
	})
	if err != nil {
		return nil, err
	}
	if err := s.beyondReach(comparison.Plan); err != nil {
		return nil, err
	}
	s.refuseForbidden(comparison.Plan)
	s.refuseUnidentified(comparison.Plan)
	return comparison, nil
}
