// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// change updates an Application, however often others write it meanwhile.
func (w *world) change(name types.NamespacedName, change func(*v1alpha1.Application)) {
	w.t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		app := w.get(name)
		change(app)
		return w.client.Update(w.t.Context(), app)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// request asks for an operation.
func (w *world) request(name types.NamespacedName, sync v1alpha1.SyncOperation) {
	w.t.Helper()
	w.change(name, func(app *v1alpha1.Application) {
		app.Operation = &v1alpha1.Operation{Sync: &sync, InitiatedBy: v1alpha1.OperationInitiator{Username: "anna"}}
	})
}

// sync asks for an operation and waits until it has ended.
func (w *world) sync(name types.NamespacedName, sync v1alpha1.SyncOperation) *v1alpha1.Application {
	w.t.Helper()
	w.request(name, sync)
	return w.until(name, 30*time.Second, "done with the operation", func(app *v1alpha1.Application) bool {
		return app.Operation == nil && app.Status.OperationState != nil && app.Status.OperationState.Phase.Completed()
	})
}

// manual takes the automation away.
func manual(app *v1alpha1.Application) { app.Spec.SyncPolicy = nil }

// withOptions gives an Application sync options and leaves it automated.
func withOptions(options ...string) func(*v1alpha1.Application) {
	return func(app *v1alpha1.Application) { app.Spec.SyncPolicy.SyncOptions = options }
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// managers returns "manager/operation" of an object's writers.
func managers(entries []metav1.ManagedFieldsEntry) string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Manager+"/"+string(e.Operation))
	}
	return strings.Join(out, " ")
}

func TestOptionsSayHowObjectsAreWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	file := func(value, dropped string) map[string]string {
		return map[string]string{
			"app/plain.yaml":  configMap("plain", "data: {v: '"+value+"'"+dropped+"}"),
			"app/server.yaml": configMap("server", annotated("argocd.argoproj.io/sync-options", "ServerSideApply=true"), "data: {v: '"+value+"'}"),
			"app/whole.yaml":  configMap("whole", annotated("argocd.argoproj.io/sync-options", "Replace=true"), "data: {v: '"+value+"'}"),
			"app/anew.yaml":   configMap("anew", annotated("argocd.argoproj.io/sync-options", "Force=true,Replace=true"), "immutable: true\ndata: {v: '"+value+"'}"),
			"app/hook.yaml":   configMap("hook", annotated("argocd.argoproj.io/hook", "PreSync", "argocd.argoproj.io/sync-options", "Validate=false"), "dataa: {v: '1'}"),
			"app/loose.yaml":  configMap("loose", annotated("argocd.argoproj.io/sync-options", "Validate=false"), "dataa: {v: '1'}\ndata: {v: '"+value+"'}"),
		}
	}
	repo := gittest.New(t, file("1", ", dropped: 'x'"))
	name := w.app("shop", repo, "app", withOptions("ServerSideApply=false"))
	w.until(name, 30*time.Second, "converged", converged)
	config := map[string]*corev1.ConfigMap{}
	read := func() {
		for _, n := range []string{"plain", "server", "whole", "anew", "loose", "hook"} {
			config[n] = &corev1.ConfigMap{}
			if !w.exists(n, config[n]) {
				t.Fatalf("%s is missing", n)
			}
		}
	}
	read()
	for n, want := range map[string]string{"plain": "wavetrain/Update", "server": "wavetrain/Apply", "whole": "wavetrain/Update", "loose": "wavetrain/Update"} {
		if got := managers(config[n].ManagedFields); got != want {
			t.Errorf("%s was written by %s, want %s", n, got, want)
		}
	}
	if _, ok := config["plain"].Annotations[corev1.LastAppliedConfigAnnotation]; !ok {
		t.Error("what is applied client-side must carry what was applied last")
	}
	if _, ok := config["whole"].Annotations[corev1.LastAppliedConfigAnnotation]; ok {
		t.Error("what is replaced needs no last-applied annotation")
	}
	for _, n := range []string{"plain", "whole"} {
		w.must(w.client.Patch(t.Context(), config[n], client.RawPatch(types.MergePatchType, []byte(`{"data":{"foreign":"x"}}`))))
	}
	anew := config["anew"].UID

	second := repo.Commit("change all", file("2", ""))
	w.until(name, 30*time.Second, "at the second commit", convergedAt(second))
	read()
	if got := config["plain"].Data; len(got) != 2 || got["v"] != "2" || got["foreign"] != "x" {
		t.Errorf("client-side: %v, want v changed, dropped gone and foreign kept", got)
	}
	if got := config["whole"].Data; len(got) != 1 || got["v"] != "2" {
		t.Errorf("replaced: %v, want nothing but v", got)
	}
	if config["anew"].UID == anew || config["anew"].Data["v"] != "2" {
		t.Errorf("the immutable object was not made anew: %v", config["anew"].Data)
	}
}

func TestForcedOperationRecreates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{"app/a.yaml": configMap("a", "immutable: true\ndata: {v: '1'}")})
	name := w.app("shop", repo, "app", manual)
	w.sync(name, v1alpha1.SyncOperation{})
	var before, after corev1.ConfigMap
	w.exists("a", &before)

	repo.Commit("change", map[string]string{"app/a.yaml": configMap("a", "immutable: true\ndata: {v: '2'}")})
	w.change(name, func(app *v1alpha1.Application) {
		app.Annotations = map[string]string{v1alpha1.AnnotationRefresh: v1alpha1.RefreshNormal}
	})
	w.until(name, 30*time.Second, "out of sync", func(app *v1alpha1.Application) bool { return app.Status.Sync.Status == v1alpha1.SyncStatusOutOfSync })
	app := w.sync(name, v1alpha1.SyncOperation{})
	if state := app.Status.OperationState; state.Phase != v1alpha1.OperationFailed || !strings.Contains(state.Message, "field is immutable") {
		t.Errorf("without force: %s: %s", state.Phase, state.Message)
	}
	app = w.sync(name, v1alpha1.SyncOperation{SyncStrategy: &v1alpha1.SyncStrategy{Hook: &v1alpha1.SyncStrategyHook{SyncStrategyApply: v1alpha1.SyncStrategyApply{Force: true}}}})
	if state := app.Status.OperationState; state.Phase != v1alpha1.OperationSucceeded {
		t.Errorf("with force: %s: %s", state.Phase, state.Message)
	}
	w.exists("a", &after)
	if after.UID == before.UID || after.Data["v"] != "2" {
		t.Errorf("the object was not made anew: %v", after.Data)
	}
}

func TestAdoptsWithAndWithoutMigration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	for _, n := range []string{"taken", "left"} {
		w.must(w.client.Create(context.WithoutCancel(t.Context()), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Target, Name: n}, Data: map[string]string{"v": "1", "dropped": "x"},
		}, client.FieldOwner("kubectl-client-side-apply")))
	}
	repo := gittest.New(t, map[string]string{
		"taken/a.yaml": configMap("taken", "data: {v: '1'}"), "left/a.yaml": configMap("left", "data: {v: '1'}"),
	})
	taken := w.app("taken", repo, "taken")
	left := w.app("left", repo, "left", withOptions("ClientSideApplyMigration=false"))
	w.until(taken, 30*time.Second, "converged", converged)
	w.until(left, 30*time.Second, "converged", converged)
	var a, b corev1.ConfigMap
	w.exists("taken", &a)
	w.exists("left", &b)
	if _, kept := a.Data["dropped"]; kept || strings.Contains(managers(a.ManagedFields), "kubectl") {
		t.Errorf("taken over: %v by %s, want what Git does not have to be gone", a.Data, managers(a.ManagedFields))
	}
	if _, kept := b.Data["dropped"]; !kept || !strings.Contains(managers(b.ManagedFields), "kubectl-client-side-apply/Update") {
		t.Errorf("without migration: %v by %s, want everything left to its owner", b.Data, managers(b.ManagedFields))
	}
}

// TestFieldDroppedAfterAdoption takes an Application over that is in sync, so that
// nothing is written, and drops a field later.
func TestFieldDroppedAfterAdoption(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	w.must(w.client.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Target, Name: "a",
			Annotations: map[string]string{"argocd.argoproj.io/tracking-id": w.named("shop") + ":/ConfigMap:" + w.Target + "/a"},
		},
		Data: map[string]string{"v": "1", "dropped": "x"},
	}, client.FieldOwner("argocd-controller")))
	repo := gittest.New(t, map[string]string{"app/a.yaml": configMap("a", "data: {v: '1', dropped: x}")})
	name := w.app("shop", repo, "app")
	app := w.until(name, 30*time.Second, "in sync", func(app *v1alpha1.Application) bool { return app.Status.Sync.Status == v1alpha1.SyncStatusSynced })
	if app.Status.OperationState != nil {
		t.Errorf("an Application in sync was synced: %s", app.Status.OperationState.Message)
	}
	second := repo.Commit("drop a field", map[string]string{"app/a.yaml": configMap("a", "data: {v: '1'}")})
	w.until(name, 30*time.Second, "at the second commit", convergedAt(second))
	var a corev1.ConfigMap
	if w.exists("a", &a); len(a.Data) != 1 {
		t.Errorf("data = %v, want the dropped field gone", a.Data)
	}
}
