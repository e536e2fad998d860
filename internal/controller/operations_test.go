// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

// refresh has the Application's revisions resolved anew and waits for a status.
func (w *world) refresh(name types.NamespacedName, want v1alpha1.SyncStatusCode) {
	w.t.Helper()
	w.change(name, func(app *v1alpha1.Application) {
		app.Annotations = map[string]string{v1alpha1.AnnotationRefresh: v1alpha1.RefreshNormal}
	})
	w.until(name, 30*time.Second, string(want), func(app *v1alpha1.Application) bool {
		_, asked := app.Annotations[v1alpha1.AnnotationRefresh]
		return !asked && app.Status.Sync.Status == want
	})
}

// results returns "Kind/name status message" of an operation.
func results(app *v1alpha1.Application) []string {
	var rows []string
	for _, r := range app.Status.OperationState.SyncResult.Resources {
		rows = append(rows, strings.Join([]string{r.Kind + "/" + r.Name, string(r.Status), r.Message}, " "))
	}
	return rows
}

func TestDryRunOperationWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{
		"app/a.yaml": configMap("a", "data: {v: '1'}"), "app/gone.yaml": configMap("gone"), "app/same.yaml": configMap("same"),
		"app/hook.yaml": job("hook", "argocd.argoproj.io/hook", "PostSync"),
	})
	name := w.app("shop", repo, "app", manual)
	w.sync(name, v1alpha1.SyncOperation{})
	history := len(w.get(name).Status.History)
	repo.Commit("change", map[string]string{
		"app/a.yaml": configMap("a", "data: {v: '2'}"), "app/gone.yaml": "-", "app/new.yaml": configMap("new"),
	})
	w.refresh(name, v1alpha1.SyncStatusOutOfSync)
	// What the first sync did has been told when the last of it has.
	w.first("Job", "hook", timeline.Done)
	for _, name := range []string{"a", "gone", "same"} {
		w.first("ConfigMap", name, timeline.Created)
	}
	done := func() (list []string) {
		for _, m := range w.moments() {
			if m.App == name.Name {
				list = append(list, m.Key.Short()+" "+string(m.What))
			}
		}
		return list
	}
	before := done()

	app := w.sync(name, v1alpha1.SyncOperation{DryRun: true, Prune: true})
	if state := app.Status.OperationState; state.Phase != v1alpha1.OperationSucceeded || state.Message != "successfully synced (dry run)" {
		t.Errorf("%s: %s", state.Phase, state.Message)
	}
	want := []string{
		"ConfigMap/gone Pruned pruned (dry run)",
		"ConfigMap/a Synced configmap/a configured (dry run)",
		"ConfigMap/new Synced configmap/new created (dry run)",
		"ConfigMap/same Synced configmap/same unchanged (dry run)",
		"Job/hook Synced job.batch/hook created (dry run)",
	}
	if diff := cmp.Diff(want, results(app)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}

	repo.Commit("an object that nobody accepts", map[string]string{"app/new.yaml": configMap("new", "dataa: {v: '1'}")})
	w.refresh(name, v1alpha1.SyncStatusOutOfSync)
	app = w.sync(name, v1alpha1.SyncOperation{DryRun: true})
	if state := app.Status.OperationState; state.Phase != v1alpha1.OperationFailed || !strings.Contains(state.Message, "ConfigMap/new") {
		t.Errorf("%s: %s", state.Phase, state.Message)
	}
	failed := 0
	for _, row := range results(app) {
		if strings.HasPrefix(row, "ConfigMap/new SyncFailed") && strings.Contains(row, "dataa") {
			failed++
		}
	}
	if failed != 1 || len(results(app)) != 5 {
		t.Errorf("results = %q, want the object with its fault among all others", results(app))
	}
	if diff := cmp.Diff(before, done()); diff != "" {
		t.Errorf("something was done (-before +after):\n%s", diff)
	}
	if got := len(w.get(name).Status.History); got != history {
		t.Errorf("history has %d entries, had %d", got, history)
	}
}

func TestDryRunKnowsWhatTheSyncBrings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	own := w.Target + "-new"
	repo := gittest.New(t, map[string]string{"app/a.yaml": configMap("a")})
	name := w.app("shop", repo, "app", manual, func(app *v1alpha1.Application) { app.Spec.Destination.Namespace = own })
	app := w.sync(name, v1alpha1.SyncOperation{DryRun: true, SyncOptions: []string{"CreateNamespace=true"}})
	want := []string{
		"Namespace/" + own + " Synced namespace/" + own + " created (dry run)",
		"ConfigMap/a Synced not checked: this sync creates Namespace/" + own,
	}
	if diff := cmp.Diff(want, results(app)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if err := w.client.Get(t.Context(), types.NamespacedName{Name: own}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace: %v, want it not to exist", err)
	}
}

func TestLocalManifests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{"app/a.yaml": configMap("a", "data: {v: 'git'}")})
	name := w.app("shop", repo, "app", manual)
	w.sync(name, v1alpha1.SyncOperation{})
	history := len(w.get(name).Status.History)

	local := []string{configMap("a", "data: {v: 'local'}"), job("probe", "argocd.argoproj.io/hook", "PostSync")}
	app := w.sync(name, v1alpha1.SyncOperation{Manifests: local})
	if state := app.Status.OperationState; state.Phase != v1alpha1.OperationSucceeded {
		t.Fatalf("%s: %s", state.Phase, state.Message)
	}
	var a corev1.ConfigMap
	if !w.exists("a", &a) || a.Data["v"] != "local" || !w.exists("probe", &batchv1.Job{}) {
		t.Errorf("the local manifests were not applied: %v", a.Data)
	}
	app = w.until(name, 20*time.Second, "out of sync with Git", func(app *v1alpha1.Application) bool {
		return app.Status.Sync.Status == v1alpha1.SyncStatusOutOfSync
	})
	if got := len(app.Status.History); got != history {
		t.Errorf("history has %d entries, had %d: nobody can go back to a local disk", got, history)
	}

	yes := true
	automated := w.app("other", repo, "app", func(app *v1alpha1.Application) {
		app.Spec.Destination.Namespace = w.Control
		app.Spec.SyncPolicy.Automated.Prune = &yes
	})
	w.until(automated, 30*time.Second, "converged", converged)
	app = w.sync(automated, v1alpha1.SyncOperation{Manifests: local})
	if state := app.Status.OperationState; state.Phase != v1alpha1.OperationError || !strings.Contains(state.Message, "automated sync is on") {
		t.Errorf("%s: %s", state.Phase, state.Message)
	}
}

func TestServerSideDryRunCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	files := map[string]string{"app/a.yaml": configMap("a"), "app/bad.yaml": configMap("bad", "dataa: {v: '1'}")}
	repo := gittest.New(t, files)
	checked := w.app("checked", repo, "app", manual)
	app := w.sync(checked, v1alpha1.SyncOperation{})
	if state := app.Status.OperationState; state.Phase != v1alpha1.OperationFailed || !strings.Contains(state.Message, "(dry run)") {
		t.Errorf("%s: %s", state.Phase, state.Message)
	}
	if w.exists("a", &corev1.ConfigMap{}) {
		t.Error("something was written although the plan cannot be carried out")
	}
	unchecked := w.app("unchecked", repo, "app", manual, func(app *v1alpha1.Application) {
		app.Annotations = map[string]string{"wavetrain.dev/sync-options": "DryRun=client"}
	})
	app = w.sync(unchecked, v1alpha1.SyncOperation{})
	if state := app.Status.OperationState; state.Phase != v1alpha1.OperationFailed || strings.Contains(state.Message, "(dry run)") {
		t.Errorf("%s: %s", state.Phase, state.Message)
	}
	if !w.exists("a", &corev1.ConfigMap{}) {
		t.Error("without the server's dry run the fault shows only when its turn comes")
	}
}

func TestPrunePropagationPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{"app/web.yaml": deployment("web", "0"), "app/a.yaml": configMap("a")})
	name := w.app("shop", repo, "app", withOptions("PrunePropagationPolicy=orphan"))
	w.until(name, 30*time.Second, "converged", converged)
	second := repo.Commit("drop the Deployment", map[string]string{"app/web.yaml": "-"})
	w.until(name, 30*time.Second, "at the second commit", convergedAt(second))
	var left appsv1.ReplicaSetList
	w.must(w.client.List(t.Context(), &left, client.InNamespace(w.Target)))
	if w.exists("web", &appsv1.Deployment{}) || len(left.Items) != 1 || left.Items[0].DeletionTimestamp != nil {
		t.Errorf("the Deployment must be gone and its ReplicaSet left: %d ReplicaSets", len(left.Items))
	}
}
