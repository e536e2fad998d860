// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

// denied has a window deny syncs for all Applications of a project, always.
func denied(p *v1alpha1.AppProjectSpec) {
	p.SyncWindows = []v1alpha1.SyncWindow{{Kind: "deny", Schedule: "* * * * *", Duration: "24h", Applications: []string{"*"}}}
}

const blocked = "Sync operation blocked by sync window: deny window"

func TestAutomationStartsWhenTheWindowOpens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{"app/a.yaml": configMap("a")})
	now := time.Now().UTC()
	closes := now.Add(15 * time.Second)
	w.project("night", func(p *v1alpha1.AppProjectSpec) {
		p.SyncWindows = []v1alpha1.SyncWindow{{
			Kind: "deny", Schedule: fmt.Sprintf("%d %d * * *", now.Minute(), now.Hour()),
			Duration: closes.Sub(now.Truncate(time.Minute)).String(), Applications: []string{"*"},
		}}
	})
	name := w.app("shop", repo, "app", inProject("night"))
	// On a machine that is busy the window has opened when the first look is over.
	w.until(name, 10*time.Second, "waiting for the window", func(app *v1alpha1.Application) bool {
		return strings.HasPrefix(condition(app, v1alpha1.ConditionSyncWaiting), blocked) && app.Status.OperationState == nil || time.Now().After(closes)
	})
	app := w.until(name, 30*time.Second, "converged", converged)
	if started := app.Status.OperationState.StartedAt.Time; started.Before(closes.Truncate(time.Second)) {
		t.Errorf("started at %s, before the window closed at %s", started, closes)
	}
	if text := condition(app, v1alpha1.ConditionSyncWaiting); text != "" {
		t.Errorf("it is still said to wait: %s", text)
	}
}

func TestSyncByHandWaitsForTheWindowOrIsTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{"app/a.yaml": configMap("a")})
	w.project("closed", denied)
	name := w.app("shop", repo, "app", inProject("closed"), func(app *v1alpha1.Application) { app.Spec.SyncPolicy = nil })
	ask := func() {
		before := w.get(name)
		after := before.DeepCopy()
		after.Operation = &v1alpha1.Operation{Sync: &v1alpha1.SyncOperation{}, InitiatedBy: v1alpha1.OperationInitiator{Username: "anna"}}
		if err := w.client.Patch(t.Context(), after, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	waiting := func(app *v1alpha1.Application) bool {
		s := app.Status.OperationState
		return app.Operation != nil && s != nil && s.Phase == v1alpha1.OperationRunning && strings.HasPrefix(s.Message, blocked)
	}
	ask()
	before := w.until(name, 30*time.Second, "blocked", waiting)
	after := before.DeepCopy()
	after.Status.OperationState.Phase = v1alpha1.OperationTerminating
	if err := w.client.Patch(t.Context(), after, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.until(name, 30*time.Second, "terminated", func(app *v1alpha1.Application) bool {
		s := app.Status.OperationState
		return app.Operation == nil && s.Phase == v1alpha1.OperationFailed && s.Message == "Operation terminated"
	})
	ask()
	w.until(name, 30*time.Second, "blocked again", waiting)
	if w.exists("a", &corev1.ConfigMap{}) {
		t.Error("something was written while the window was closed")
	}
	w.changeProject("closed", func(p *v1alpha1.AppProjectSpec) { p.SyncWindows[0].ManualSync = true })
	app := w.until(name, 30*time.Second, "converged", converged)
	if who := app.Status.OperationState.Operation.InitiatedBy.Username; who != "anna" {
		t.Errorf("initiated by %q", who)
	}
}

func TestWindowThatClosesSuspendsARollout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{Own: true})
	w.env.SetRules(t, "rules:\n  - match: {kind: Job, name: slow}\n    neverFinish: true\n")
	repo := gittest.New(t, map[string]string{"app/slow.yaml": job("slow", "argocd.argoproj.io/hook", "PreSync"), "app/a.yaml": configMap("a")})
	w.project("team")
	name := w.app("shop", repo, "app", inProject("team"))
	w.until(name, 30*time.Second, "waiting for the hook", func(app *v1alpha1.Application) bool {
		return app.Status.OperationState != nil && strings.Contains(app.Status.OperationState.Message, "Job/slow")
	})
	w.changeProject("team", denied)
	suspended := func(app *v1alpha1.Application) bool {
		s := app.Status.OperationState
		return s != nil && s.Phase == v1alpha1.OperationRunning && strings.HasPrefix(s.Message, blocked)
	}
	w.until(name, 10*time.Second, "suspended", suspended)
	w.env.SetRules(t, "rules: []\n")
	w.first("Job", "slow", timeline.Done)
	// Another look at the Application, after the hook's end, changes nothing.
	w.annotate(name, v1alpha1.AnnotationRefresh, v1alpha1.RefreshNormal)
	w.until(name, 30*time.Second, "looked at and still suspended", func(app *v1alpha1.Application) bool {
		return app.Annotations[v1alpha1.AnnotationRefresh] == "" && suspended(app)
	})
	if w.exists("a", &corev1.ConfigMap{}) {
		t.Error("the rollout went on although the window is closed")
	}
	w.changeProject("team", func(p *v1alpha1.AppProjectSpec) { p.SyncWindows = nil })
	w.until(name, 30*time.Second, "converged", converged)
	w.once("Job", "slow")
}
