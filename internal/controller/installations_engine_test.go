// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

// TestInstallationsWithEqualNamesLeaveEachOtherAlone has two controllers deliver
// Applications of one name to one namespace: to the tracking ids they are one.
func TestInstallationsWithEqualNamesLeaveEachOtherAlone(t *testing.T) {
	t.Parallel()
	worlds := map[string]*world{}
	repos := map[string]*gittest.Repository{}
	apps := map[string]types.NamespacedName{}
	for _, id := range []string{"north", "south"} {
		w := newWorldWithoutController(t, sandboxtest.Options{})
		w.settings(map[string]string{"installationID": id})
		w.start(t)
		worlds[id] = w
		repos[id] = gittest.New(t, map[string]string{
			"app/" + id + ".yaml": configMap(id), "app/old-" + id + ".yaml": configMap("old-" + id), "app/both.yaml": configMap("both"),
		})
	}
	north, south := worlds["north"], worlds["south"]
	south.Target = north.Target
	for id, w := range worlds {
		apps[id] = w.app("shop", repos[id], "app", func(app *v1alpha1.Application) {
			app.Name = north.named("shop")
			app.Finalizers = []string{manifest.ResourcesFinalizer}
			// What both render belongs to the first; the other would heal it for ever.
			app.Spec.SyncPolicy.Automated.SelfHeal = nil
		})
		w.until(apps[id], 30*time.Second, "rolled out", func(app *v1alpha1.Application) bool {
			return app.Status.OperationState != nil && app.Status.OperationState.Phase == v1alpha1.OperationSucceeded
		})
	}
	for id, w := range worlds {
		var object corev1.ConfigMap
		if !w.exists(id, &object) || object.Annotations[manifest.AnnotationInstallationID] != id {
			t.Errorf("%s is marked %v", id, object.Annotations)
		}
	}
	var shared corev1.ConfigMap
	north.exists("both", &shared)
	owner := shared.Annotations[manifest.AnnotationInstallationID]
	other := map[string]string{"north": "south", "south": "north"}[owner]
	worlds[other].refreshed(apps[other])
	worlds[other].until(apps[other], 30*time.Second, "warned", func(app *v1alpha1.Application) bool {
		for _, c := range app.Status.Conditions {
			if c.Type == v1alpha1.ConditionSharedResourceWarning && strings.Contains(c.Message, "ConfigMap/both") && strings.Contains(c.Message, "of installation "+owner) {
				return true
			}
		}
		return false
	})

	second := repos["south"].Commit("drop", map[string]string{"app/old-south.yaml": "-", "app/both.yaml": "-"})
	south.until(apps["south"], 30*time.Second, "at the second commit", convergedAt(second))
	if south.exists("old-south", &corev1.ConfigMap{}) {
		t.Error("what an installation has made and dropped is still there")
	}
	south.must(south.client.Delete(t.Context(), south.get(apps["south"])))
	south.eventually(30*time.Second, "the Application is gone", func() (bool, string) {
		err := south.client.Get(t.Context(), apps["south"], &v1alpha1.Application{})
		return apierrors.IsNotFound(err), ""
	})
	if south.exists("south", &corev1.ConfigMap{}) {
		t.Error("an object has outlived its Application")
	}
	for _, name := range []string{"north", "old-north"} {
		if !north.exists(name, &corev1.ConfigMap{}) {
			t.Errorf("%s is gone", name)
		}
	}
	for _, m := range north.moments() {
		if m.What == timeline.Deleted && strings.Contains(m.Key.Name, "north") {
			t.Errorf("%s was deleted", m.Key)
		}
	}
}

// refreshed asks for a look.
func (w *world) refreshed(name types.NamespacedName) {
	w.t.Helper()
	w.change(name, func(app *v1alpha1.Application) {
		metav1.SetMetaDataAnnotation(&app.ObjectMeta, v1alpha1.AnnotationRefresh, "normal")
	})
}
