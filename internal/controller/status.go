// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rollout"
	"github.com/wavetrain/wavetrain/internal/status"
)

// progressEvery bounds how often the status is written because of words or a heal: a
// write costs the API server more the larger the application is. While an operation
// waits, the pace of the options does.
const progressEvery = 5 * time.Second

// progressRate bounds, per second, how often that is done for all Applications
// together; up to progressBurst at once. When hundreds roll out, telling how far
// each is must not take the API server's time from rolling out.
const (
	progressRate  = 5
	progressBurst = 20
)

// shown is the comparison as the status describes it; nil when there is none.
func (s *session) shown() *status.State {
	if s.comparison == nil {
		return nil
	}
	if s.state == nil {
		described := status.Observe(status.Observation{
			Plan: s.comparison.Plan, Live: s.comparison.Live, Superfluous: s.comparison.Superfluous, Deferred: s.deferred(),
			Self:    manifest.Key{Group: v1alpha1.Group, Kind: "Application", Namespace: s.app.Namespace, Name: s.app.Name},
			Options: manifest.ParseOptions(s.app.Spec.SyncOptionList()...), Health: s.judge(),
		})
		s.state = &described
	}
	return s.state
}

// judge returns the health of a live object, with people's own rules and what is
// around it on its cluster.
func (s *session) judge() func(*unstructured.Unstructured) health.Result { return s.judgeOn(s.dest) }

func (a *applications) judgeOn(dest *destination) func(*unstructured.Unstructured) health.Result {
	around := health.Context{Custom: a.installation.judge}
	if dest != nil {
		around = rollout.Surroundings(dest, a.installation.judge)
	}
	return func(obj *unstructured.Unstructured) health.Result { return health.OfWith(obj, around) }
}

func (s *session) syncStatus() v1alpha1.SyncStatusCode {
	if state := s.shown(); state != nil && !s.unknownSources() {
		return state.Sync()
	}
	return v1alpha1.SyncStatusUnknown
}

func (s *session) resources() []v1alpha1.ResourceStatus {
	state := s.shown()
	switch {
	case state == nil:
		return status.Unknown(s.app.Status.Resources)
	case s.unknownSources():
		return status.Unknown(state.Resources())
	}
	rows := state.Resources()
	unknowns(rows, forbidden(s.comparison.Plan))
	return rows
}

// writeStatus brings the Application's status up to date with one patch, or none
// when nothing has changed.
func (s *session) writeStatus(ctx context.Context) error {
	s.fillStatus()
	s.keepHookFinalizers()
	delete(s.app.Annotations, v1alpha1.AnnotationRefresh)
	return s.patch(ctx)
}

// patch writes what this look has changed about the Application.
func (s *session) patch(ctx context.Context) error {
	if reflect.DeepEqual(s.before, s.app) || s.onlyWordsChanged() {
		s.st.unwritten = nil
		return nil
	}
	if s.waitsToBeWritten() {
		s.st.unwritten = s.app.Status.DeepCopy()
		return nil
	}
	if s.comparison != nil {
		reconciled := metav1.NewTime(s.now)
		s.app.Status.ReconciledAt = &reconciled
	}
	app := s.app.DeepCopy()
	base := client.MergeFrom(s.before)
	if !slices.Equal(s.before.Finalizers, s.app.Finalizers) {
		// The list is replaced as a whole: not over what somebody else has added.
		base = client.MergeFromWithOptions(s.before, client.MergeFromWithOptimisticLock{})
	}
	err := s.client.Patch(ctx, app, base, client.FieldOwner(manifest.ControllerFieldManager))
	if err != nil {
		return fmt.Errorf("write status of %s/%s: %w", s.app.Namespace, s.app.Name, err)
	}
	s.st.written, s.st.statusAt, s.st.unwritten = app.ResourceVersion, s.now, nil
	if isHeal(s.app.Status.OperationState) {
		// The time between two of them is counted from the end of the first.
		s.st.healAt = s.opts.Clock.Now()
	}
	return nil
}

// onlyWordsChanged tells whether nothing but the explanation of the health has
// changed since a moment ago: while a Deployment rolls out it changes with every
// Pod. It is written with the next change, or when some time has passed.
func (s *session) onlyWordsChanged() bool {
	due := s.st.statusAt.Add(progressEvery)
	if !s.now.Before(due) {
		return false
	}
	quiet := s.before.DeepCopy()
	quiet.Status.Health.Message = s.app.Status.Health.Message
	if !reflect.DeepEqual(quiet, s.app) {
		return false
	}
	s.by(due)
	return true
}

func (s *session) fillStatus() {
	st := &s.app.Status
	s.tellPin()
	s.tellFights()
	s.fillConditions()
	st.ControllerNamespace = s.opts.Namespace
	st.Resources = s.resources()
	st.Sync.Status = s.syncStatus()
	state := s.shown()
	if state == nil {
		if s.invalidSpec() {
			st.Health = status.UnknownHealth(st.Health, "", s.now)
		}
		return
	}
	st.ResourceHealthSource = v1alpha1.ResourceHealthSourceAppTree
	st.Health = state.Health(st.Health, s.now)
	st.Summary = state.Summary()
	if s.unknownSources() {
		return
	}
	desired := s.compared
	st.Sync.ComparedTo = s.app.Spec.ComparedTo()
	setRevisions(s.app, desired.Revisions)
	if s.app.Spec.MultipleSources() {
		st.SourceType, st.SourceTypes = "", desired.Tools
		return
	}
	st.SourceType, st.SourceTypes = desired.Tools[0], nil
}

func (s *session) fillConditions() {
	found := s.problems
	if s.comparison != nil {
		found = append(found, status.PlanConditions(s.comparison.Plan)...)
	}
	for _, wrong := range manifest.CheckSwitches(s.ownOptions(), true) {
		found = append(found, v1alpha1.ApplicationCondition{Type: v1alpha1.ConditionSyncOptionWarning, Message: wrong})
	}
	if warning, ok := s.namespaceWarning(); ok {
		found = append(found, warning)
	}
	if warning, ok := s.sharedWarning(); ok {
		found = append(found, warning)
	}
	if warning, ok := s.orphanWarning(); ok {
		found = append(found, warning)
	}
	if warning, ok := status.Truncated(s.st.dropped); ok {
		found = append(found, warning)
	}
	evaluated := append(status.Evaluated(), v1alpha1.ConditionSyncError, v1alpha1.ConditionDeletionError, v1alpha1.ConditionDeletionProgressing, v1alpha1.ConditionSyncWaiting, v1alpha1.ConditionRollbackPinned, v1alpha1.ConditionFightWarning)
	s.app.Status.Conditions = status.Conditions(s.app.Status.Conditions, evaluated, found, s.now)
}

// invalidSpec tells whether the spec itself keeps the Application from being
// looked at.
func (s *session) invalidSpec() bool {
	for _, c := range s.problems {
		if c.Type == v1alpha1.ConditionInvalidSpecError {
			return true
		}
	}
	return false
}
