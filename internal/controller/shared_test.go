// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// shares is an Application that warns of an object of others.
func shares(app *v1alpha1.Application) bool {
	for _, c := range app.Status.Conditions {
		if c.Type == v1alpha1.ConditionSharedResourceWarning && strings.Contains(c.Message, "ConfigMap/common is part of applications") {
			return true
		}
	}
	return false
}

// ownerOf is the Application whose mark an object carries.
func (w *world) ownerOf(name string) string {
	var u corev1.ConfigMap
	if !w.exists(name, &u) {
		return ""
	}
	owner, _, _ := strings.Cut(u.Annotations["argocd.argoproj.io/tracking-id"], ":")
	return owner
}

func (w *world) eventuallyOwned(object string, by types.NamespacedName) {
	w.t.Helper()
	w.eventually(20*time.Second, object+" belongs to "+by.Name, func() (bool, string) {
		owner := w.ownerOf(object)
		return owner == by.Name, owner
	})
}

func TestSharedObjectIsHandedOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{
		"a/common.yaml": configMap("common", "data: {v: '1'}"), "a/own.yaml": configMap("a"),
		"b/common.yaml": configMap("common", "data: {v: '1'}"), "b/own.yaml": configMap("b"),
	})
	a := w.app("a", repo, "a")
	w.until(a, 30*time.Second, "converged", converged)
	b := w.app("b", repo, "b")
	w.until(b, 30*time.Second, "synced, with a warning", func(app *v1alpha1.Application) bool { return converged(app) && shares(app) })
	w.until(a, 20*time.Second, "out of sync, with a warning", func(app *v1alpha1.Application) bool {
		return app.Status.Sync.Status == v1alpha1.SyncStatusOutOfSync && shares(app)
	})
	if got := w.ownerOf("common"); got != b.Name {
		t.Errorf("common belongs to %s, want the later sync to have taken it", got)
	}

	strict := w.app("strict", repo, "a", withOptions("FailOnSharedResource=true"))
	app := w.until(strict, 30*time.Second, "refused", func(app *v1alpha1.Application) bool {
		return app.Status.OperationState != nil && app.Status.OperationState.Phase == v1alpha1.OperationFailed
	})
	if message := app.Status.OperationState.Message; !containsAll(message, []string{"Shared resource found: ConfigMap/common is part of applications", strict.Name, b.Name}) {
		t.Errorf("message = %s", message)
	}
	w.must(w.client.Delete(t.Context(), app))

	// The owner drops it: handed to the other, not deleted.
	repo.Commit("b drops it", map[string]string{"b/common.yaml": "-"})
	w.eventuallyOwned("common", a)
	w.until(a, 20*time.Second, "without a warning", func(app *v1alpha1.Application) bool { return converged(app) && !shares(app) })
	changes := 0
	for _, m := range w.moments() {
		if m.Key.Name == "common" && m.What == "deleted" {
			t.Error("common was deleted on the way")
		}
		if m.Key.Name == "common" {
			changes++
		}
	}
	if changes > 6 {
		t.Errorf("common changed %d times: the applications fought over it", changes)
	}

	// A later release takes it back, and it goes the same way when the owner is deleted.
	repo.Commit("b has it again", map[string]string{"b/common.yaml": configMap("common", "data: {v: '1'}")})
	w.eventuallyOwned("common", b)
	w.change(b, func(app *v1alpha1.Application) { app.Finalizers = []string{v1alpha1.FinalizerResources} })
	w.must(w.client.Delete(t.Context(), w.get(b)))
	w.eventuallyOwned("common", a)
	w.eventually(20*time.Second, "b's own object is gone", func() (bool, string) { return !w.exists("b", &corev1.ConfigMap{}), "it is there" })
	if !w.exists("common", &corev1.ConfigMap{}) {
		t.Error("common went with its owner")
	}
}

// TestRestartDoesNotDeleteWhatOthersRender lets the controller begin with an
// owner that has dropped an object, while the other one cannot be rendered.
func TestRestartDoesNotDeleteWhatOthersRender(t *testing.T) {
	t.Parallel()
	w := newWorldWithoutController(t, sandboxtest.Options{})
	mirrors := t.TempDir()
	kill := w.startProcess(mirrors)
	repo := gittest.New(t, map[string]string{"a/common.yaml": configMap("common"), "a/own.yaml": configMap("a")})
	other := gittest.New(t, map[string]string{"b/common.yaml": configMap("common"), "b/own.yaml": configMap("b")})
	b := w.app("b", other, "b")
	w.until(b, 30*time.Second, "converged", converged)
	a := w.app("a", repo, "a")
	w.until(a, 30*time.Second, "synced, with a warning", func(app *v1alpha1.Application) bool { return converged(app) && shares(app) })
	kill()
	other.Vanish()
	second := repo.Commit("a drops it", map[string]string{"a/common.yaml": "-"})
	w.startProcess(t.TempDir())
	w.until(a, 30*time.Second, "at the second commit", func(app *v1alpha1.Application) bool {
		return app.Status.Sync.Revision == second && app.Status.Sync.Status == v1alpha1.SyncStatusSynced
	})
	if !w.exists("common", &corev1.ConfigMap{}) {
		t.Error("common was deleted although another Application renders it")
	}
}
