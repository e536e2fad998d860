// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// finalize carries out what the Application's finalizers ask for and lets it go
// when nothing is left: PreDelete hooks, then the managed objects, then PostDelete
// hooks. A finalizer that is gone is the memory of a stage that is done.
func (s *session) finalize(ctx context.Context) error {
	if !slices.ContainsFunc(s.app.Finalizers, isOurs) {
		return nil
	}
	if err := s.remember(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, observeTimeout, errNoAnswer)
	defer cancel()
	dest, err := s.destinations.get(ctx, s.life, s.app.Spec.Destination)
	switch {
	case errors.Is(err, errNoCluster):
		// A cluster that nobody knows any more holds nothing that could be
		// deleted; keeping the Application would keep it for ever.
		s.app.Finalizers = slices.DeleteFunc(s.app.Finalizers, isOurs)
	case err == nil:
		s.dest = dest
		err = s.dismantle(ctx)
	}
	if err != nil && !errors.Is(err, errNoCluster) {
		s.problem(v1alpha1.ConditionDeletionError, err)
		s.by(s.now.Add(retryAfterError))
	}
	s.fillConditions()
	delete(s.app.Annotations, v1alpha1.AnnotationRefresh)
	return s.patch(ctx)
}

// dismantle works at the first stage that is not done. A stage that is done loses
// its finalizer; the write of that brings the next look.
func (s *session) dismantle(ctx context.Context) error {
	if err := s.loadProject(ctx); err != nil {
		return err
	}
	if over, err := s.endSync(ctx); err != nil || !over {
		return err
	}
	resources, policy, cascades := cascade(s.app)
	has := func(f string) bool { return slices.Contains(s.app.Finalizers, f) }
	done, finalizers, err := true, []string{v1alpha1.FinalizerPreDeleteCleanup, v1alpha1.FinalizerPostDeleteCleanup}, error(nil)
	switch {
	case has(v1alpha1.FinalizerPreDelete):
		finalizers = []string{v1alpha1.FinalizerPreDelete}
		done, err = s.runDeleteHooks(ctx, manifest.PreDelete)
	case cascades:
		finalizers = []string{resources}
		done, err = s.deleteManaged(ctx, policy)
	case has(v1alpha1.FinalizerPostDelete):
		finalizers = []string{v1alpha1.FinalizerPostDelete}
		done, err = s.runDeleteHooks(ctx, manifest.PostDelete)
	}
	if err != nil || !done {
		return err
	}
	s.app.Finalizers = slices.DeleteFunc(s.app.Finalizers, func(f string) bool { return slices.Contains(finalizers, f) })
	return nil
}

// isOurs tells whether a finalizer is one that the controller carries out.
func isOurs(finalizer string) bool {
	switch finalizer {
	case v1alpha1.FinalizerResources, v1alpha1.FinalizerResourcesForeground, v1alpha1.FinalizerResourcesBackground:
		return true
	}
	return slices.Contains(hookFinalizers(manifest.PreDelete), finalizer) || slices.Contains(hookFinalizers(manifest.PostDelete), finalizer)
}

// cascade returns the finalizer that asks for deletion of the managed objects
// and how it reaches the objects below them.
func cascade(app *v1alpha1.Application) (finalizer string, policy metav1.DeletionPropagation, ok bool) {
	for _, f := range app.Finalizers {
		switch f {
		case v1alpha1.FinalizerResources, v1alpha1.FinalizerResourcesForeground:
			return f, metav1.DeletePropagationForeground, true
		case v1alpha1.FinalizerResourcesBackground:
			return f, metav1.DeletePropagationBackground, true
		}
	}
	return "", "", false
}

// hookFinalizers are the finalizers that hold an Application with hooks of the
// phase.
func hookFinalizers(phase manifest.Phase) []string {
	if phase == manifest.PreDelete {
		return []string{v1alpha1.FinalizerPreDelete, v1alpha1.FinalizerPreDeleteCleanup}
	}
	return []string{v1alpha1.FinalizerPostDelete, v1alpha1.FinalizerPostDeleteCleanup}
}

// keepHookFinalizers brings the finalizers of delete hooks in line with the
// target revision, so that an Application is held exactly when it has such hooks.
// What an operation rolls out now may be another revision and does not matter.
func (s *session) keepHookFinalizers() {
	if s.comparison == nil || s.compared != s.st.desired || s.unknownSources() {
		return
	}
	s.app.Finalizers = withHookFinalizers(s.app.Finalizers, s.comparison.Plan.OnDeletion)
}

// withHookFinalizers adds and removes the finalizers of delete hooks and leaves
// all others where they are.
func withHookFinalizers(finalizers []string, onDeletion []plan.Group) []string {
	for _, phase := range []manifest.Phase{manifest.PreDelete, manifest.PostDelete} {
		wanted := slices.ContainsFunc(onDeletion, func(g plan.Group) bool { return g.Phase == phase })
		for _, f := range hookFinalizers(phase) {
			switch at := slices.Index(finalizers, f); {
			case wanted && at < 0:
				finalizers = append(slices.Clip(finalizers), f)
			case !wanted && at >= 0:
				finalizers = slices.Delete(slices.Clone(finalizers), at, at+1)
			}
		}
	}
	return finalizers
}

// deleting puts on the status what the deletion is at.
func (s *session) deleting(message string) {
	s.problems = append(s.problems, v1alpha1.ApplicationCondition{Type: v1alpha1.ConditionDeletionProgressing, Message: message})
}
