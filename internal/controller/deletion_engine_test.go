// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

// delete asks for the Application's deletion.
func (w *world) delete(name types.NamespacedName) {
	w.t.Helper()
	if err := w.client.Delete(w.t.Context(), w.get(name)); err != nil {
		w.t.Fatal(err)
	}
}

// untilGone waits until the Application does not exist any more.
func (w *world) untilGone(name types.NamespacedName, limit time.Duration) {
	w.t.Helper()
	w.eventually(limit, name.Name+" is gone", func() (bool, string) {
		app := &v1alpha1.Application{}
		err := w.client.Get(w.t.Context(), name, app)
		return apierrors.IsNotFound(err), fmt.Sprint(err, app.Finalizers, app.Status.Conditions)
	})
}

// annotate sets an annotation of the Application.
func (w *world) annotate(name types.NamespacedName, annotation, value string) {
	w.t.Helper()
	before := w.get(name)
	after := before.DeepCopy()
	if after.Annotations == nil {
		after.Annotations = map[string]string{}
	}
	after.Annotations[annotation] = value
	if err := w.client.Patch(w.t.Context(), after, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
}

// syncByHand starts an operation and waits until it has succeeded.
func (w *world) syncByHand(name types.NamespacedName) {
	w.t.Helper()
	before := w.get(name)
	after := before.DeepCopy()
	after.Operation = &v1alpha1.Operation{Sync: &v1alpha1.SyncOperation{Prune: true}, InitiatedBy: v1alpha1.OperationInitiator{Username: "anna"}}
	after.Status.OperationState = nil
	if err := w.client.Patch(w.t.Context(), after, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
	w.until(name, 30*time.Second, "synced by hand", func(app *v1alpha1.Application) bool {
		return app.Operation == nil && converged(app)
	})
}

// condition returns the message of the Application's condition of a type.
func condition(app *v1alpha1.Application, kind v1alpha1.ConditionType) string {
	for _, c := range app.Status.Conditions {
		if c.Type == kind {
			return c.Message
		}
	}
	return ""
}

func cascading(app *v1alpha1.Application) { app.Finalizers = []string{v1alpha1.FinalizerResources} }

func TestDeleteHooksRunOnceAndOnlyOnDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{
		"app/settings.yaml": configMap("settings", "data: {v: '1'}"),
		"app/web.yaml":      deployment("web", "1"),
		"app/backup.yaml":   job("backup", "argocd.argoproj.io/hook", "PreDelete", "argocd.argoproj.io/sync-wave", "1"),
		"app/script.yaml":   configMap("script", annotated("argocd.argoproj.io/hook", "PreDelete", "argocd.argoproj.io/hook-delete-policy", "HookSucceeded")),
		"app/cleanup.yaml":  job("cleanup", "helm.sh/hook", "post-delete"),
		"app/goodbye.yaml":  job("goodbye", "helm.sh/hook", "post-delete", "helm.sh/hook-weight", "1", "helm.sh/hook-delete-policy", "hook-succeeded"),
	})
	name := w.app("shop", repo, "app", cascading)
	app := w.until(name, 30*time.Second, "converged", converged)
	for _, f := range []string{v1alpha1.FinalizerPreDelete, v1alpha1.FinalizerPreDeleteCleanup, v1alpha1.FinalizerPostDelete, v1alpha1.FinalizerPostDeleteCleanup} {
		if !slices.Contains(app.Finalizers, f) {
			t.Errorf("finalizer %s is missing: %v", f, app.Finalizers)
		}
	}
	for range 10 {
		w.syncByHand(name)
	}
	upgrade := repo.Commit("upgrade", map[string]string{"app/settings.yaml": configMap("settings", "data: {v: '2'}")})
	w.until(name, 30*time.Second, "upgraded", convergedAt(upgrade))
	hooks := []string{"backup", "cleanup", "goodbye"}
	for _, hook := range hooks {
		if n := w.times("Job", hook, timeline.Created); n != 0 {
			t.Fatalf("delete hook %s was created %d times by syncs", hook, n)
		}
	}

	w.delete(name)
	w.untilGone(name, 60*time.Second)
	for _, hook := range hooks {
		w.once("Job", hook)
	}
	created, done, deleted := timeline.Created, timeline.Done, timeline.Deleted
	for _, order := range [][2]timeline.Moment{
		{w.first("ConfigMap", "script", created), w.first("Job", "backup", created)},
		{w.first("Job", "backup", done), w.first("Deployment", "web", deleted)},
		{w.first("Deployment", "web", deleted), w.first("ConfigMap", "settings", deleted)},
		{w.first("ConfigMap", "settings", deleted), w.first("Job", "cleanup", created)},
		{w.first("Job", "cleanup", done), w.first("Job", "goodbye", created)},
	} {
		if order[0].ResourceVersion >= order[1].ResourceVersion {
			t.Errorf("%s %s (%d) is not before %s %s (%d)", order[0].Key.Short(), order[0].What, order[0].ResourceVersion, order[1].Key.Short(), order[1].What, order[1].ResourceVersion)
		}
	}
	var left batchv1.Job
	if !w.exists("cleanup", &left) {
		t.Error("a PostDelete hook without a delete policy was deleted")
	} else if len(left.Finalizers) > 0 {
		t.Errorf("the hook that stays is held by %v", left.Finalizers)
	}
	w.eventually(10*time.Second, "the hook with policy hook-succeeded is gone", func() (bool, string) {
		return !w.exists("goodbye", &batchv1.Job{}), "it is there"
	})
}

func TestDeleteHookFinalizersFollowTheManifests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{
		"app/a.yaml": configMap("a"), "app/hook.yaml": job("cleanup", "argocd.argoproj.io/hook", "PostDelete"),
	})
	name := w.app("shop", repo, "app", func(app *v1alpha1.Application) { app.Finalizers = []string{"example.test/other"} })
	w.until(name, 30*time.Second, "held for its hook", func(app *v1alpha1.Application) bool {
		return converged(app) && slices.Equal(app.Finalizers, []string{"example.test/other", v1alpha1.FinalizerPostDelete, v1alpha1.FinalizerPostDeleteCleanup})
	})
	repo.Commit("no hook", map[string]string{"app/hook.yaml": "-"})
	w.until(name, 30*time.Second, "held by others only", func(app *v1alpha1.Application) bool {
		return slices.Equal(app.Finalizers, []string{"example.test/other"})
	})
}

func TestFailedPreDeleteHookKeepsEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{Own: true})
	w.env.SetRules(t, `rules:
  - match: {kind: Job, name: guard}
    failAfter: 0s
  - match: {kind: Job, name: stuck}
    neverFinish: true
`)
	guard := strings.Replace(job("guard", "argocd.argoproj.io/hook", "PreDelete"), "spec:\n", "spec:\n  backoffLimit: 0\n", 1)
	repo := gittest.New(t, map[string]string{
		"app/a.yaml": configMap("a"), "app/guard.yaml": guard,
		"stuck/b.yaml": configMap("b"), "stuck/hook.yaml": job("stuck", "argocd.argoproj.io/hook", "PostSync"),
	})
	patient := func(app *v1alpha1.Application) {
		cascading(app)
		app.Spec.SyncPolicy.Retry = &v1alpha1.RetryStrategy{Limit: 1, Backoff: &v1alpha1.Backoff{Duration: "1h", MaxDuration: "2h"}}
	}
	name := w.app("shop", repo, "app", patient)
	w.until(name, 30*time.Second, "converged", converged)
	w.delete(name)
	w.until(name, 30*time.Second, "stopped by its hook", func(app *v1alpha1.Application) bool {
		return containsAll(condition(app, v1alpha1.ConditionDeletionError), []string{"PreDelete hook failed", "Job/guard", "backoff limit", "nothing was deleted"})
	})
	if !w.exists("a", &corev1.ConfigMap{}) {
		t.Error("an object was deleted although the hook failed")
	}

	if err := w.client.Delete(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.Target, Name: "guard"}}, client.PropagationPolicy("Background")); err != nil {
		t.Fatal(err)
	}
	w.eventually(30*time.Second, "the removed hook runs again", func() (bool, string) {
		return w.times("Job", "guard", timeline.Created) == 2, fmt.Sprint(w.get(name).Status.Conditions)
	})
	w.until(name, 30*time.Second, "stopped again", func(app *v1alpha1.Application) bool {
		return strings.Contains(condition(app, v1alpha1.ConditionDeletionError), "attempt 3")
	})
	repo.Commit("fix the hook", map[string]string{"app/guard.yaml": job("good", "argocd.argoproj.io/hook", "PreDelete")})
	w.untilGone(name, 30*time.Second)
	if w.exists("a", &corev1.ConfigMap{}) {
		t.Error("the cascade left an object behind")
	}
	w.once("Job", "good")

	hanging := w.app("hanging", repo, "stuck", cascading)
	w.until(hanging, 30*time.Second, "waiting for the hook", func(app *v1alpha1.Application) bool {
		return app.Status.OperationState != nil && strings.Contains(app.Status.OperationState.Message, "Job/stuck")
	})
	w.delete(hanging)
	w.untilGone(hanging, 30*time.Second)
	if w.exists("b", &corev1.ConfigMap{}) || w.exists("stuck", &batchv1.Job{}) {
		t.Error("the deletion during a sync left something behind")
	}
}

func TestKilledDuringADeleteHookItRunsOnce(t *testing.T) {
	t.Parallel()
	w := newWorldWithoutController(t, sandboxtest.Options{Own: true})
	w.env.SetRules(t, "rules:\n  - match: {kind: Job, name: stuck}\n    neverFinish: true\n  - match: {kind: Job}\n    succeedAfter: 3s\n")
	repo := gittest.New(t, map[string]string{
		"app/a.yaml":       configMap("a"),
		"app/backup.yaml":  job("backup", "argocd.argoproj.io/hook", "PreDelete"),
		"app/cleanup.yaml": job("cleanup", "argocd.argoproj.io/hook", "PostDelete"),
		"sync/b.yaml":      configMap("b"), "sync/stuck.yaml": job("stuck", "argocd.argoproj.io/hook", "PostSync"),
	})
	name := w.app("shop", repo, "app", cascading)
	mirrors := t.TempDir()
	kill := w.startProcess(mirrors)
	w.until(name, 30*time.Second, "converged", converged)
	w.delete(name)
	for _, hook := range []string{"backup", "cleanup"} {
		w.eventually(30*time.Second, hook+" runs", func() (bool, string) {
			return w.times("Job", hook, timeline.Created) > 0, "it is not there"
		})
		kill()
		kill = w.startProcess(mirrors)
	}
	w.untilGone(name, 60*time.Second)
	for _, hook := range []string{"backup", "cleanup"} {
		w.once("Job", hook)
	}

	// A sync that the deletion finds interrupted is not taken up to be ended.
	interrupted := w.app("interrupted", repo, "sync", cascading)
	w.until(interrupted, 30*time.Second, "waiting for its hook", func(app *v1alpha1.Application) bool {
		return app.Status.OperationState != nil && strings.Contains(app.Status.OperationState.Message, "Job/stuck")
	})
	kill()
	repo.Commit("break the manifests", map[string]string{"sync/b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [}\n"})
	w.delete(interrupted)
	w.startProcess(mirrors)
	w.untilGone(interrupted, 30*time.Second)
	w.eventually(10*time.Second, "nothing of it is left", func() (bool, string) {
		return !w.exists("b", &corev1.ConfigMap{}) && !w.exists("stuck", &batchv1.Job{}), "something is there"
	})
}

func TestDeletionWaitsForConfirmation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{
		"app/data.yaml":  configMap("data", annotated("argocd.argoproj.io/sync-options", "Delete=confirm")),
		"app/plain.yaml": configMap("plain"),
		"app/helm.yaml":  configMap("kept", annotated("helm.sh/resource-policy", "keep")),
	})
	name := w.app("shop", repo, "app", func(app *v1alpha1.Application) { app.Finalizers = []string{v1alpha1.FinalizerResourcesBackground} })
	w.until(name, 30*time.Second, "converged", converged)
	w.annotate(name, v1alpha1.AnnotationDeletionApproved, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))
	w.delete(name)
	w.until(name, 30*time.Second, "waiting for a person", func(app *v1alpha1.Application) bool {
		return containsAll(condition(app, v1alpha1.ConditionDeletionProgressing), []string{"confirms", "ConfigMap/data", v1alpha1.AnnotationDeletionApproved})
	})
	if !w.exists("data", &corev1.ConfigMap{}) || !w.exists("plain", &corev1.ConfigMap{}) {
		t.Error("something was deleted without confirmation")
	}
	w.annotate(name, v1alpha1.AnnotationDeletionApproved, time.Now().Add(time.Minute).UTC().Format(time.RFC3339))
	w.untilGone(name, 30*time.Second)
	if w.exists("data", &corev1.ConfigMap{}) || w.exists("plain", &corev1.ConfigMap{}) {
		t.Error("something was left after the confirmation")
	}
	if !w.exists("kept", &corev1.ConfigMap{}) {
		t.Error("helm.sh/resource-policy: keep was not respected")
	}
}

func TestDeletionNamesWhatHoldsItAndWhatCannotBeRendered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{
		"app/held.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, finalizers: [example.test/holds]}\n",
		"hook/a.yaml":   configMap("a"), "hook/hook.yaml": job("cleanup", "argocd.argoproj.io/hook", "PreDelete"),
	})
	held := w.app("held", repo, "app", cascading)
	hooked := w.app("hooked", repo, "hook", cascading)
	w.until(held, 30*time.Second, "converged", converged)
	w.until(hooked, 30*time.Second, "converged", converged)

	w.delete(held)
	w.until(held, 30*time.Second, "telling who holds it", func(app *v1alpha1.Application) bool {
		return strings.Contains(condition(app, v1alpha1.ConditionDeletionProgressing), "held (held by finalizer example.test/holds)")
	})
	var object corev1.ConfigMap
	if !w.exists("held", &object) {
		t.Fatal("the object is gone")
	}
	object.Finalizers = nil
	if err := w.client.Update(t.Context(), &object); err != nil {
		t.Fatal(err)
	}
	w.untilGone(held, 30*time.Second)

	repo.Commit("break it", map[string]string{"hook/hook.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n   indented: wrong\n"})
	w.until(hooked, 30*time.Second, "broken", func(app *v1alpha1.Application) bool { return condition(app, v1alpha1.ConditionComparisonError) != "" })
	w.delete(hooked)
	w.until(hooked, 30*time.Second, "telling what is broken", func(app *v1alpha1.Application) bool {
		return containsAll(condition(app, v1alpha1.ConditionDeletionError), []string{"PreDelete hooks cannot be rendered", "hook/hook.yaml"})
	})
	if !w.exists("a", &corev1.ConfigMap{}) {
		t.Error("something was deleted although the hooks are not known")
	}
	// Its cluster becomes unknown: then nothing can be run or deleted.
	before := w.get(hooked)
	after := before.DeepCopy()
	after.Spec.Destination = v1alpha1.ApplicationDestination{Name: "nobody-knows"}
	if err := w.client.Patch(t.Context(), after, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.untilGone(hooked, 30*time.Second)
}
