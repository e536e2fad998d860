// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// saying is an Application whose running operation says all of the words.
func saying(words ...string) func(*v1alpha1.Application) bool {
	return func(app *v1alpha1.Application) bool {
		s := app.Status.OperationState
		return s != nil && s.Phase == v1alpha1.OperationRunning && containsAll(s.Message, words)
	}
}

// approve confirms deletions at a time.
func (w *world) approve(name types.NamespacedName, at time.Time) {
	w.change(name, func(app *v1alpha1.Application) {
		if app.Annotations == nil {
			app.Annotations = map[string]string{}
		}
		app.Annotations[v1alpha1.AnnotationDeletionApproved] = at.UTC().Format(time.RFC3339)
	})
}

func TestPruneWaitsForConfirmation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{
		"app/a.yaml":    configMap("a", annotated("argocd.argoproj.io/sync-wave", "-1"), "data: {v: '1'}"),
		"app/ask.yaml":  configMap("ask", annotated("argocd.argoproj.io/sync-options", "Prune=confirm", "argocd.argoproj.io/sync-wave", "1")),
		"app/also.yaml": configMap("also", annotated("argocd.argoproj.io/sync-wave", "1")),
		"app/keep.yaml": configMap("keep", annotated("argocd.argoproj.io/sync-options", "Prune=false")),
	})
	name := w.app("shop", repo, "app")
	w.until(name, 30*time.Second, "converged", converged)
	repo.Commit("drop three, change a", map[string]string{
		"app/a.yaml": configMap("a", annotated("argocd.argoproj.io/sync-wave", "-1"), "data: {v: '2'}"), "app/ask.yaml": "-", "app/also.yaml": "-", "app/keep.yaml": "-",
	})
	w.until(name, 30*time.Second, "waiting for a confirmation", saying("waiting for pruning confirmation of", "ask"))
	var a corev1.ConfigMap
	if !w.exists("a", &a) || a.Data["v"] != "2" {
		t.Errorf("what precedes the prune was not done: %v", a.Data)
	}
	w.approve(name, time.Now().Add(-time.Hour))
	w.until(name, 5*time.Second, "waiting still: an old confirmation does not count", saying("waiting for pruning confirmation of"))
	if !w.exists("ask", &corev1.ConfigMap{}) || !w.exists("also", &corev1.ConfigMap{}) {
		t.Error("something of the group was pruned before the confirmation")
	}
	w.approve(name, time.Now())
	app := w.until(name, 30*time.Second, "done", func(app *v1alpha1.Application) bool {
		return app.Status.OperationState.Phase == v1alpha1.OperationSucceeded
	})
	if w.exists("ask", &corev1.ConfigMap{}) || w.exists("also", &corev1.ConfigMap{}) || !w.exists("keep", &corev1.ConfigMap{}) {
		t.Error("after the confirmation ask and also must be gone and keep must stay")
	}
	if got := strings.Join(results(app), "\n"); !strings.Contains(got, "ConfigMap/keep PruneSkipped ignored (no prune)") {
		t.Errorf("results:\n%s", got)
	}
}

func TestPruneGuardAsksAndIsSuperseded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	files, gone := map[string]string{}, map[string]string{}
	for i := range 10 {
		name := fmt.Sprintf("app/c%d.yaml", i)
		files[name] = configMap(fmt.Sprintf("c%d", i))
		if i > 0 {
			gone[name] = "-"
		}
	}
	repo := gittest.New(t, files)
	name := w.app("shop", repo, "app")
	w.until(name, 30*time.Second, "converged", converged)
	repo.Commit("drop nearly all", gone)
	w.until(name, 30*time.Second, "guarded", saying("waiting for pruning confirmation of", "and 8 more", "9 of 10 objects would be deleted"))
	back := repo.Commit("bring them back", files)
	w.until(name, 30*time.Second, "in sync with the commit that brings them back", func(app *v1alpha1.Application) bool {
		s := app.Status.OperationState
		return app.Status.Sync.Status == v1alpha1.SyncStatusSynced && app.Status.Sync.Revision == back && s.Message == "superseded by "+back
	})
	for _, m := range w.moments() {
		if m.What == "deleted" {
			t.Errorf("%s was deleted", m.Key.Short())
		}
	}

	w.change(name, func(app *v1alpha1.Application) {
		app.Annotations = map[string]string{"wavetrain.dev/sync-options": "PruneGuard=false"}
	})
	last := repo.Commit("drop nearly all again", gone)
	w.until(name, 30*time.Second, "pruned without a question", convergedAt(last))
	if w.exists("c9", &corev1.ConfigMap{}) || !w.exists("c0", &corev1.ConfigMap{}) {
		t.Error("with the guard off all but c0 must be gone")
	}
}

func TestPruneWaitsForWhoUsesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Target, Name: "foreign"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "registry.example.test/foreign:1",
			EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "used"}}}},
		}}},
	}
	repo := gittest.New(t, map[string]string{"app/used.yaml": configMap("used"), "app/free.yaml": configMap("free"), "app/a.yaml": configMap("a")})
	name := w.app("shop", repo, "app", func(app *v1alpha1.Application) {
		no := false
		app.Spec.SyncPolicy.Automated.SelfHeal = &no
	})
	w.until(name, 30*time.Second, "converged", converged)
	w.must(w.client.Create(t.Context(), pod))
	second := repo.Commit("drop both", map[string]string{"app/used.yaml": "-", "app/free.yaml": "-"})
	app := w.until(name, 30*time.Second, "at the second commit", convergedAt(second))
	if !w.exists("used", &corev1.ConfigMap{}) || w.exists("free", &corev1.ConfigMap{}) {
		t.Error("what a Pod uses must stay, what nobody uses must go")
	}
	if got := strings.Join(results(app), "\n"); !strings.Contains(got, "ConfigMap/used PruneSkipped deferred: still used by Pod/foreign") {
		t.Errorf("results:\n%s", got)
	}
	w.must(w.client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	w.eventually(20*time.Second, "the object goes when its user has gone", func() (bool, string) {
		return !w.exists("used", &corev1.ConfigMap{}), "it is there"
	})
	if app = w.until(name, 20*time.Second, "converged", converged); app.Status.Sync.Revision != second {
		t.Errorf("revision %s, want no other commit than %s", app.Status.Sync.Revision, second)
	}
}
