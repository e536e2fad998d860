// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// namespace reads the destination namespace without the label that every
// namespace has.
func (w *world) namespace(name string) *corev1.Namespace {
	w.t.Helper()
	ns := &corev1.Namespace{}
	w.must(w.client.Get(w.t.Context(), types.NamespacedName{Name: name}, ns))
	delete(ns.Labels, corev1.LabelMetadataName)
	return ns
}

func (w *world) eventuallyLabels(name string, want map[string]string) {
	w.t.Helper()
	w.eventually(20*time.Second, fmt.Sprintf("labels of %s are %v", name, want), func() (bool, string) {
		got := w.namespace(name).Labels
		return cmp.Equal(got, want), fmt.Sprint(got)
	})
}

func TestManagedNamespaceMetadata(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{"app/a.yaml": configMap("a")})
	w.must(w.client.Patch(t.Context(), w.namespace(w.Target), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"foreign":"x"}}}`))))
	metadata := func(labels map[string]string) func(*v1alpha1.Application) {
		return func(app *v1alpha1.Application) {
			app.Spec.SyncPolicy.SyncOptions = []string{"CreateNamespace=true", "Replace=true"}
			app.Spec.SyncPolicy.ManagedNamespaceMetadata = &v1alpha1.ManagedNamespaceMetadata{Labels: labels}
		}
	}
	name := w.app("shop", repo, "app", metadata(map[string]string{"team": "a", "tier": "b"}))
	w.until(name, 30*time.Second, "converged", converged)
	w.eventuallyLabels(w.Target, map[string]string{"foreign": "x", "team": "a", "tier": "b"})

	// A key that is dropped from the spec goes, what belongs to others stays.
	w.change(name, metadata(map[string]string{"team": "c"}))
	w.eventuallyLabels(w.Target, map[string]string{"foreign": "x", "team": "c"})

	// Drift is seen and healed.
	w.until(name, 20*time.Second, "converged again", converged)
	w.must(w.client.Patch(t.Context(), w.namespace(w.Target), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"team":"by-hand"}}}`))))
	w.eventuallyLabels(w.Target, map[string]string{"foreign": "x", "team": "c"})
	w.until(name, 20*time.Second, "converged after healing", converged)

	w.change(name, func(app *v1alpha1.Application) { app.Spec.SyncPolicy.Automated = nil })
	w.must(w.client.Patch(t.Context(), w.namespace(w.Target), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"team":"by-hand"}}}`))))
	w.until(name, 20*time.Second, "out of sync without automation", func(app *v1alpha1.Application) bool {
		return app.Status.Sync.Status == v1alpha1.SyncStatusOutOfSync
	})
}

func TestCreatedNamespaceIsNobodys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	own := w.Target + "-own"
	repo := gittest.New(t, map[string]string{
		"app/a.yaml":  configMap("a"),
		"app/ns.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + own + ", labels: {from: git}}\n",
	})
	name := w.app("shop", repo, "app", func(app *v1alpha1.Application) {
		app.Spec.Destination.Namespace = own
		app.Finalizers = []string{v1alpha1.FinalizerResources}
	})
	w.until(name, 30*time.Second, "converged", converged)
	before := w.namespace(own)
	if before.Annotations["argocd.argoproj.io/tracking-id"] == "" {
		t.Fatal("a rendered namespace must be tracked")
	}

	// Git drops the manifest in favour of the option: handed over, not deleted.
	w.change(name, withOptions("CreateNamespace=true"))
	second := repo.Commit("drop the namespace", map[string]string{"app/ns.yaml": "-"})
	w.until(name, 30*time.Second, "at the second commit", convergedAt(second))
	after := w.namespace(own)
	if after.UID != before.UID || after.DeletionTimestamp != nil {
		t.Fatal("the namespace was deleted")
	}
	if id, marked := after.Annotations["argocd.argoproj.io/tracking-id"]; marked {
		t.Errorf("the namespace still carries the tracking id %s", id)
	}

	app := w.get(name)
	w.must(w.client.Delete(t.Context(), app))
	w.eventually(30*time.Second, "the Application is gone", func() (bool, string) {
		err := w.client.Get(t.Context(), name, app)
		return apierrors.IsNotFound(err), fmt.Sprint(err, app.Status.Conditions)
	})
	if kept := w.namespace(own); kept.DeletionTimestamp != nil {
		t.Error("the namespace went with the Application")
	}
	err := w.client.Get(t.Context(), types.NamespacedName{Namespace: own, Name: "a"}, &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the object in it: %v, want it gone", err)
	}
}
