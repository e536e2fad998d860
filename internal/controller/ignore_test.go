// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

func TestIgnoredDifferencesAreRespected(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	files := func(value string) map[string]string {
		files := map[string]string{}
		for _, n := range []string{"kept", "written"} {
			files[n+"/a.yaml"] = configMap(n, "data: {v: '"+value+"', tuned: git, scaled: git}")
		}
		return files
	}
	repo := gittest.New(t, files("1"))
	ignoring := func(options ...string) func(*v1alpha1.Application) {
		return func(app *v1alpha1.Application) {
			app.Spec.SyncPolicy.SyncOptions = options
			app.Spec.IgnoreDifferences = []v1alpha1.ResourceIgnoreDifferences{
				{Kind: "ConfigMap", JSONPointers: []string{"/data/scaled"}},
				{Kind: "ConfigMap", JQPathExpressions: []string{`.data | .. | select(. == "tuned by hand")`}},
			}
		}
	}
	kept := w.app("kept", repo, "kept", ignoring("RespectIgnoreDifferences=true"))
	written := w.app("written", repo, "written", ignoring())
	byHand := map[string]string{"v": "1", "tuned": "tuned by hand", "scaled": "5"}
	for name, app := range map[string]types.NamespacedName{"kept": kept, "written": written} {
		w.until(app, 30*time.Second, "converged", converged)
		var u corev1.ConfigMap
		if !w.exists(name, &u) || u.Data["scaled"] != "git" {
			t.Errorf("%s: %v: a new object has Git's values", name, u.Data)
		}
		w.must(w.client.Patch(t.Context(), &u, client.RawPatch(types.MergePatchType, []byte(`{"data":{"tuned":"tuned by hand","scaled":"5"}}`)), client.FieldOwner("scaler")))
		w.refresh(app, v1alpha1.SyncStatusSynced)
		if w.exists(name, &u); !cmp.Equal(u.Data, byHand) {
			t.Errorf("%s: ignored differences were healed: %v", name, u.Data)
		}
	}

	second := repo.Commit("change v", files("2"))
	for name, want := range map[string]map[string]string{
		"kept":    {"v": "2", "tuned": "tuned by hand", "scaled": "5"},
		"written": {"v": "2", "tuned": "git", "scaled": "git"},
	} {
		w.until(types.NamespacedName{Namespace: w.Control, Name: w.named(name)}, 30*time.Second, "at the second commit", convergedAt(second))
		var u corev1.ConfigMap
		w.exists(name, &u)
		if diff := cmp.Diff(want, u.Data); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	w.change(kept, func(app *v1alpha1.Application) { app.Spec.IgnoreDifferences[1].JQPathExpressions = []string{".data["} })
	w.until(kept, 20*time.Second, "in error", func(app *v1alpha1.Application) bool {
		return app.Status.Sync.Status == v1alpha1.SyncStatusUnknown && strings.Contains(errorText(app), `jq expression ".data["`)
	})
}
