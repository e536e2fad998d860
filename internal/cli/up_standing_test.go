// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cli/live"
)

// shopApp is an Application in order, changed by the given functions.
func shopApp(changes ...func(*v1alpha1.Application)) *v1alpha1.Application {
	app := &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "shop"},
		Spec: v1alpha1.ApplicationSpec{
			Source:     &v1alpha1.ApplicationSource{RepoURL: "git@git.example.com:acme/shop.git", Path: "manifests"},
			SyncPolicy: &v1alpha1.SyncPolicy{Automated: &v1alpha1.SyncPolicyAutomated{}},
		},
		Status: v1alpha1.ApplicationStatus{
			Sync:           v1alpha1.SyncStatus{Status: v1alpha1.SyncStatusSynced, Revision: "c1"},
			Health:         v1alpha1.AppHealthStatus{Status: v1alpha1.HealthHealthy},
			OperationState: &v1alpha1.OperationState{Phase: v1alpha1.OperationSucceeded, Message: "successfully synced"},
		},
	}
	for _, change := range changes {
		change(app)
	}
	return app
}

func TestStateOf(t *testing.T) {
	phase := func(p v1alpha1.OperationPhase, message string) func(*v1alpha1.Application) {
		return func(app *v1alpha1.Application) {
			app.Status.OperationState.Phase, app.Status.OperationState.Message = p, message
		}
	}
	condition := func(kind v1alpha1.ConditionType, message string) func(*v1alpha1.Application) {
		return func(app *v1alpha1.Application) {
			app.Status.Conditions = []v1alpha1.ApplicationCondition{{Type: kind, Message: message}}
		}
	}
	health := func(status v1alpha1.HealthStatusCode) func(*v1alpha1.Application) {
		return func(app *v1alpha1.Application) { app.Status.Health.Status = status }
	}
	outOfSync := func(app *v1alpha1.Application) { app.Status.Sync.Status = v1alpha1.SyncStatusOutOfSync }
	byHand := func(app *v1alpha1.Application) { app.Spec.SyncPolicy = nil }
	neverSynced := func(app *v1alpha1.Application) { app.Status.OperationState = nil }
	requested := func(app *v1alpha1.Application) { app.Operation = &v1alpha1.Operation{} }

	for name, c := range map[string]struct {
		reason string
		app    *v1alpha1.Application
		behind string
		want   live.State
	}{
		"in order":      {"synced, healthy, idle", shopApp(), "", live.State{Done: true, Text: "Synced, Healthy"}},
		"never synced":  {"what was in order before needs no operation", shopApp(neverSynced), "", live.State{Done: true, Text: "Synced, Healthy"}},
		"behind":        {"in order at an older commit is not in order", shopApp(), "c2", live.State{Text: "not compared with commit c2 yet"}},
		"running":       {"an operation that runs is said by its message", shopApp(phase(v1alpha1.OperationRunning, "Sync wave 0")), "", live.State{Running: true, Text: "Sync wave 0"}},
		"requested":     {"a request counts as running", shopApp(neverSynced, requested), "", live.State{Running: true, Text: "a sync is about to start"}},
		"failed":        {"an operation that failed is a failure", shopApp(phase(v1alpha1.OperationFailed, "Job x failed"), outOfSync), "", live.State{Failed: true, Text: "Job x failed"}},
		"failed before": {"but not any more when a new commit is coming", shopApp(phase(v1alpha1.OperationFailed, "Job x failed"), outOfSync), "c2", live.State{Text: "not compared with commit c2 yet"}},
		"overtaken": {"a failure at another revision than the one that is in order is past", shopApp(phase(v1alpha1.OperationFailed, "Job x failed"), func(app *v1alpha1.Application) {
			app.Status.OperationState.SyncResult = &v1alpha1.SyncOperationResult{Revision: "c0"}
		}), "", live.State{Done: true, Text: "Synced, Healthy"}},
		"comparison":     {"what cannot be compared is a failure", shopApp(condition(v1alpha1.ConditionComparisonError, "no chart")), "", live.State{Failed: true, Text: "ComparisonError: no chart"}},
		"warning":        {"a warning is none", shopApp(condition("OrphanedResourceWarning", "extra")), "", live.State{Done: true, Text: "Synced, Healthy"}},
		"while running":  {"a problem with a newer commit does not fail the operation that runs", shopApp(condition(v1alpha1.ConditionComparisonError, "no chart"), phase(v1alpha1.OperationRunning, "Sync wave 0")), "", live.State{Running: true, Text: "Sync wave 0"}},
		"progressing":    {"health is waited for", shopApp(health(v1alpha1.HealthProgressing)), "", live.State{Text: "health Progressing"}},
		"degraded":       {"what degrades after a sync that went well may recover", shopApp(health(v1alpha1.HealthDegraded)), "", live.State{Text: "Degraded"}},
		"by hand":        {"nobody syncs it: say so", shopApp(neverSynced, outOfSync, byHand), "", live.State{Text: "sync status OutOfSync; it has no automated sync policy: `wavetrain app sync shop` syncs it"}},
		"in sync anyway": {"without a policy it can still be in order", shopApp(byHand), "", live.State{Done: true, Text: "Synced, Healthy"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, stateOf(c.app, c.behind)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestStandings(t *testing.T) {
	repo := &upRepository{urls: spellings("https://git.example.com/acme/shop.git"), commit: "c1"}
	s := newStandings(live.NewBoard("argocd"), repo)
	if s.settled() {
		t.Error("settled without any Application")
	}
	s.observe(shopApp())
	if !s.settled() {
		t.Errorf("not settled: %q", s.waiting())
	}
	if diff := cmp.Diff([]string{"git@git.example.com:acme/shop.git"}, s.served()); diff != "" {
		t.Errorf("the URL as the Application spells it (-want +got):\n%s", diff)
	}

	s.expect("c2")
	if s.settled() {
		t.Error("settled at the commit before")
	}
	pinned := shopApp(func(app *v1alpha1.Application) { app.Spec.Source.TargetRevision = "v1.0.0" })
	s.observe(pinned)
	if !s.settled() {
		t.Errorf("an Application that follows a tag does not wait for commits: %q", s.waiting())
	}

	failed := shopApp(func(app *v1alpha1.Application) {
		app.Status.OperationState.Phase, app.Status.OperationState.Message = v1alpha1.OperationFailed, "boom"
		app.Status.Sync.Revision = "c2"
	})
	s.observe(failed)
	if got := s.failed(time.Now(), time.Hour); got != nil {
		t.Errorf("failed for an hour: %q, want none", got)
	}
	if diff := cmp.Diff([]string{"shop: boom"}, s.failed(time.Now().Add(time.Hour), time.Hour)); diff != "" {
		t.Errorf("failed an hour later (-want +got):\n%s", diff)
	}
	s.forget(cache.DeletedFinalStateUnknown{Obj: failed})
	if got := s.waiting(); got != nil {
		t.Errorf("a deleted Application is waited for: %q", got)
	}
}
