// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"path/filepath"
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

// What the API server said of an object that differs is not asked again, look after
// look, until the object changes.
func TestVerdictsAreRemembered(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "audit.log")
	w := audited{newWorld(t, sandboxtest.Options{AuditLog: log, Own: true}), log}
	repo := gittest.New(t, map[string]string{"app/a.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: differs}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n---\n" + configMap("stays")})
	name := w.app("shop", repo, "app", func(app *v1alpha1.Application) { app.Spec.SyncPolicy.Automated.SelfHeal = new(bool) })
	w.until(name, time.Minute, "converged", converged)
	edit := func(value string) {
		live := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Target, Name: "differs"}}
		w.must(w.client.Patch(t.Context(), live, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"selector":{"app":"`+value+`"}}}`))))
	}
	look := func() {
		w.must(w.client.Patch(t.Context(), w.get(name), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"normal"}}}`))))
		app := w.until(name, time.Minute, "looked at", func(app *v1alpha1.Application) bool {
			_, waits := app.Annotations[v1alpha1.AnnotationRefresh]
			return !waits
		})
		if app.Status.Sync.Status != v1alpha1.SyncStatusOutOfSync {
			t.Errorf("the difference is gone: %s", summary(app))
		}
	}
	asked := w.trials("services", "differs")
	edit("2")
	w.until(name, time.Minute, "out of sync", func(app *v1alpha1.Application) bool { return app.Status.Sync.Status == v1alpha1.SyncStatusOutOfSync })
	w.eventually(time.Minute, "the API server was asked", func() (bool, string) { return w.trials("services", "differs") > asked, "" })
	asked = w.trials("services", "differs")
	for range 3 {
		look()
	}
	if now := w.trials("services", "differs"); now != asked {
		t.Errorf("asked %d times more of what has not changed", now-asked)
	}
	edit("3")
	w.eventually(time.Minute, "it is asked once more after a change", func() (bool, string) { return w.trials("services", "differs") == asked+1, "" })
	look()
	if now := w.trials("services", "differs"); now != asked+1 {
		t.Errorf("asked %d times after one change", now-asked)
	}
}
