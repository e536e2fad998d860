// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

func TestRollbackPinsUntilSomethingNewComes(t *testing.T) {
	t.Parallel()
	w := newWorldWithoutController(t, sandboxtest.Options{})
	version := func(v string) map[string]string {
		return map[string]string{"app/a.yaml": configMap("a", "data: {v: '"+v+"'}")}
	}
	repo := gittest.New(t, version("good"))
	good := repo.Git("rev-parse", "HEAD")
	mirrors := t.TempDir()
	kill := w.startProcess(mirrors)
	name := w.app("shop", repo, "app")
	w.until(name, 30*time.Second, "at the good commit", convergedAt(good))
	bad := repo.Commit("break it", version("bad"))
	w.until(name, 30*time.Second, "at the bad commit", convergedAt(bad))

	before := w.get(name)
	after := before.DeepCopy()
	after.Operation = &v1alpha1.Operation{Sync: &v1alpha1.SyncOperation{Revision: good}, InitiatedBy: v1alpha1.OperationInitiator{Username: "anna"}}
	if err := w.client.Patch(t.Context(), after, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	pinned := func(app *v1alpha1.Application) bool {
		return converged(app) && app.Status.Sync.Revision == good && strings.Contains(condition(app, v1alpha1.ConditionRollbackPinned), good)
	}
	w.until(name, 30*time.Second, "back at the good commit, and pinned", pinned)

	// The pin outlives the controller and a commit that changes nothing of the
	// application, and drift is healed to the pinned release.
	kill()
	repo.Commit("elsewhere", map[string]string{"other/x.yaml": configMap("x")})
	var a corev1.ConfigMap
	if !w.exists("a", &a) {
		t.Fatal("the object is gone")
	}
	a.Data["v"] = "by hand"
	if err := w.client.Update(t.Context(), &a); err != nil {
		t.Fatal(err)
	}
	w.startProcess(mirrors)
	w.eventually(30*time.Second, "the drift is healed", func() (bool, string) {
		return w.exists("a", &a) && a.Data["v"] == "good", a.Data["v"]
	})
	app := w.until(name, 30*time.Second, "pinned still", pinned)
	if n := len(app.Status.History); n != 3 {
		t.Errorf("history has %d entries, want 3", n)
	}

	fix := repo.Commit("mend it", version("mended"))
	app = w.until(name, 30*time.Second, "at the fix", convergedAt(fix))
	if text := condition(app, v1alpha1.ConditionRollbackPinned); text != "" {
		t.Errorf("it is still said to be pinned: %s", text)
	}
	again := repo.Commit("break it again", version("bad"))
	w.until(name, 30*time.Second, "following the commits again", convergedAt(again))
}
