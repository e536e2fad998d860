// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// Who asks for a sync right after a push gets what was pushed, though nobody has
// polled since; and while that sync waits for its next attempt, looks at the
// Application leave the repository alone.
func TestSyncByHandMeansWhatWasPushed(t *testing.T) {
	t.Parallel()
	w := newWorldWithoutController(t, sandboxtest.Options{})
	w.startHourly(t)
	repo := gittest.New(t, map[string]string{"app/a.yaml": configMap("a", "data: {v: '1'}"), "probe/a.yaml": configMap("probe")})
	var asked atomic.Int64
	var broken atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/info/refs") {
			asked.Add(1)
		}
		if broken.Load() {
			rw.WriteHeader(http.StatusInternalServerError)
			return
		}
		repo.Handler().ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	project := &v1alpha1.AppProject{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Control, Name: "shop"},
		Spec:       v1alpha1.AppProjectSpec{SourceRepos: []string{"*"}, Destinations: []v1alpha1.ApplicationDestination{{Server: "*", Namespace: "*"}}},
	}
	if err := w.client.Create(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	name := w.app("shop", repo, "app", func(app *v1alpha1.Application) {
		app.Spec.Source.RepoURL, app.Spec.Project = server.URL+"/repo.git", project.Name
		app.Spec.SyncPolicy = nil
	})
	first := repo.Git("rev-parse", "HEAD")
	w.until(name, time.Minute, "compared", func(app *v1alpha1.Application) bool { return app.Status.Sync.Revision == first })
	second := repo.Commit("second", map[string]string{"app/a.yaml": configMap("a", "data: {v: '2'}")})
	w.request(name, v1alpha1.SyncOperation{})
	w.until(name, time.Minute, "synced to what was pushed", convergedAt(second))

	// What was pushed before is not meant when nobody knows what is there now.
	broken.Store(true)
	w.request(name, v1alpha1.SyncOperation{})
	w.until(name, time.Minute, "refused", func(app *v1alpha1.Application) bool {
		state := app.Status.OperationState
		return app.Operation == nil && state != nil && state.Phase == v1alpha1.OperationError && strings.Contains(state.Message, "the server answers 500")
	})
	broken.Store(false)

	// The same request again, while a window is closed.
	project.Spec.SyncWindows = []v1alpha1.SyncWindow{{Kind: "deny", Schedule: "* * * * *", Duration: "24h", Applications: []string{"*"}}}
	if err := w.client.Update(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	w.awaitWindow(project.Name, repo)
	third := repo.Commit("third", map[string]string{"app/a.yaml": configMap("a", "data: {v: '3'}")})
	w.request(name, v1alpha1.SyncOperation{})
	w.until(name, time.Minute, "waiting for the window", func(app *v1alpha1.Application) bool {
		state := app.Status.OperationState
		return state != nil && strings.Contains(state.Message, "blocked by sync window") && app.Status.Sync.Revision == third
	})
	before := asked.Load()
	for range 3 {
		w.write(name, "a", "3", v1alpha1.SyncStatusSynced)
		w.write(name, "a", "another", v1alpha1.SyncStatusOutOfSync)
	}
	if n := asked.Load() - before; n != 0 {
		t.Errorf("the repository was asked %d times by looks at an Application whose sync waits", n)
	}
}

// awaitWindow waits until the controller knows that a window of the project is closed:
// it may see a request before the project of the same moment.
func (w *world) awaitWindow(project string, repo *gittest.Repository) {
	w.t.Helper()
	probe := w.app("probe", repo, "probe", inProject(project))
	w.until(probe, time.Minute, "waiting for the window", func(app *v1alpha1.Application) bool {
		return condition(app, v1alpha1.ConditionSyncWaiting) != ""
	})
}

// write sets the value of a ConfigMap and waits until the Application was looked at
// for it.
func (w *world) write(name types.NamespacedName, object, value string, want v1alpha1.SyncStatusCode) {
	w.t.Helper()
	live := &corev1.ConfigMap{}
	if !w.exists(object, live) {
		w.t.Fatalf("ConfigMap %s is not there", object)
	}
	live.Data = map[string]string{"v": value}
	if err := w.client.Update(w.t.Context(), live); err != nil {
		w.t.Fatal(err)
	}
	w.until(name, time.Minute, "looked at", func(app *v1alpha1.Application) bool {
		return slices.ContainsFunc(app.Status.Resources, func(r v1alpha1.ResourceStatus) bool { return r.Name == object && r.Status == want })
	})
}
