// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// supersededByDeletion is how a sync ends that the deletion found running.
const supersededByDeletion = "superseded by the deletion of the Application"

// endSync ends a sync in progress, as a newer release would; it reports whether
// none is left.
func (s *session) endSync(ctx context.Context) (over bool, err error) {
	if run := s.st.run; run != nil && run.phase == "" {
		if !run.ended() {
			run.Supersede(supersededByDeletion)
			s.deleting("waiting for the running sync to end: " + run.Snapshot().Message)
			s.by(s.now.Add(progressEvery))
			return false, nil
		}
		s.collect()
		if err := s.noteCauses(ctx); err != nil || s.st.record == nil {
			return false, err
		}
	}
	if rec := s.st.memory.Operation; rec != nil && !rec.Ended() && !isDeletion(s.app, rec.Operation) {
		if err := s.giveUp(ctx, supersededByDeletion); err != nil {
			return false, err
		}
	}
	s.closeOperation()
	return true, nil
}

// closeOperation has the status say that no operation runs any more.
func (s *session) closeOperation() {
	s.app.Operation = nil
	state := s.app.Status.OperationState
	if state == nil || state.Phase.Completed() {
		return
	}
	finished := metav1.NewTime(s.now)
	state.Phase, state.Message, state.FinishedAt = v1alpha1.OperationFailed, supersededByDeletion, &finished
	if rec := s.st.memory.Operation; rec != nil && rec.Outcome != nil && rec.Operation == operationID(state.Operation) {
		state.Phase, state.Message = v1alpha1.OperationPhase(rec.Outcome.Phase), rec.Outcome.Message
	}
}

// giveUp ends an attempt that no run carries on: one that another process began
// and that cannot be, or need not be, continued. Its running hooks are deleted,
// the others are let go of; ordinary objects stay as they are.
func (s *session) giveUp(ctx context.Context, message string) error {
	rec := s.st.memory.Operation.Clone()
	ids := slices.Sorted(maps.Keys(rec.Steps))
	var kinds []schema.GroupKind
	for _, id := range ids {
		if step := rec.Steps[id]; step.Hook && !slices.Contains(kinds, step.Key.GroupKind()) {
			kinds = append(kinds, step.Key.GroupKind())
		}
	}
	if err := s.watchServed(ctx, kinds); err != nil {
		return err
	}
	for _, id := range ids {
		if step := rec.Steps[id]; step.Hook {
			if err := s.giveUpHook(ctx, rec.Mark(), step); err != nil {
				return err
			}
		}
	}
	if rec.Outcome == nil {
		rec.Outcome = &machine.Outcome{Phase: machine.PhaseFailed, Message: message, Superseded: true}
		rec.FinishedAt = s.now
	}
	s.st.memory.Operation = &rec
	return recordStore{s.st.record}.Save(ctx, s.st.memory)
}

// giveUpHook deletes or releases the live object of a hook if it is the one that
// the attempt with this mark created.
func (s *session) giveUpHook(ctx context.Context, mark string, step *machine.StepRecord) error {
	live, ok := s.dest.Get(step.Key)
	if ok && live.GetAnnotations()[manifest.AnnotationOperation] == mark {
		if err := s.dest.RemoveFinalizer(ctx, step.Key, manifest.HookFinalizer); err != nil {
			return fmt.Errorf("let go of hook %s: %w", step.Key.Short(), err)
		}
		if step.Drop || !step.State.Done() {
			err := s.writer().Delete(ctx, step.Key, cluster.DeleteOptions{UID: live.GetUID(), Propagation: metav1.DeletePropagationForeground})
			if err != nil {
				return fmt.Errorf("delete hook %s: %w", step.Key.Short(), err)
			}
		}
	}
	step.Held, step.Drop = false, false
	if !step.State.Done() {
		step.State, step.Message = machine.Failed, "Terminated"
	}
	return nil
}

// watchServed has those of the kinds watched that the cluster serves.
func (s *session) watchServed(ctx context.Context, kinds []schema.GroupKind) error {
	served := slices.DeleteFunc(slices.Clone(kinds), func(gk schema.GroupKind) bool {
		_, known := s.dest.Scope(gk)
		return !known
	})
	if err := s.dest.Watch(ctx, served...); err != nil {
		return fmt.Errorf("watch %s: %w", s.dest.Server, err)
	}
	return nil
}
