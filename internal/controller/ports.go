// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"strings"

	"github.com/wavetrain/wavetrain/internal/release"
	"github.com/wavetrain/wavetrain/internal/rollout"
)

// recordStore is a ReleaseRecord as the rollout sees it.
type recordStore struct{ *release.Record }

// Save implements rollout.Store.
func (s recordStore) Save(ctx context.Context, state rollout.State) error {
	payload, err := state.Encode()
	if err != nil {
		return err
	}
	err = s.Record.Save(ctx, payload, summary(state))
	if release.IsConflict(err) {
		return fmt.Errorf("%w: %w", rollout.ErrConflict, err)
	}
	return err
}

func summary(state rollout.State) release.Summary {
	rec := state.Operation
	if rec == nil {
		return release.Summary{}
	}
	s := release.Summary{
		Operation: rec.Operation, Phase: "Running", Plan: rec.Plan, Attempts: rec.Attempt,
		Revision: strings.Join(rec.Revisions, ","),
	}
	if rec.Outcome != nil {
		s.Phase = string(rec.Outcome.Phase)
	}
	return s
}
