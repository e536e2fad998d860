// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// project makes a project that permits everything, but for the changes.
func (w *world) project(name string, change ...func(*v1alpha1.AppProjectSpec)) {
	w.t.Helper()
	p := &v1alpha1.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: w.Control, Name: name}, Spec: v1alpha1.AppProjectSpec{
		SourceRepos:              []string{"*"},
		Destinations:             []v1alpha1.ApplicationDestination{{Server: "*", Namespace: "*"}},
		ClusterResourceWhitelist: []v1alpha1.ClusterResourceRestriction{{Group: "*", Kind: "*"}},
	}}
	for _, c := range change {
		c(&p.Spec)
	}
	if err := w.client.Create(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
}

// changeProject changes a project.
func (w *world) changeProject(name string, change func(*v1alpha1.AppProjectSpec)) {
	w.t.Helper()
	p := &v1alpha1.AppProject{}
	if err := w.client.Get(w.t.Context(), types.NamespacedName{Namespace: w.Control, Name: name}, p); err != nil {
		w.t.Fatal(err)
	}
	change(&p.Spec)
	if err := w.client.Update(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
}

func inProject(name string) func(*v1alpha1.Application) {
	return func(app *v1alpha1.Application) { app.Spec.Project = name }
}

func TestProjectRefusesRepositoriesAndDestinations(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{"app/a.yaml": configMap("a")})
	w.project("other-repos", func(p *v1alpha1.AppProjectSpec) { p.SourceRepos = []string{"*", "!" + repo.URL} })
	w.project("other-namespaces", func(p *v1alpha1.AppProjectSpec) {
		p.Destinations = append(p.Destinations, v1alpha1.ApplicationDestination{Name: v1alpha1.InClusterName, Namespace: "!" + w.Target})
	})
	name := w.app("repo", repo, "app", inProject("other-repos"))
	elsewhere := w.app("namespace", repo, "app", inProject("other-namespaces"))
	refused := func(text string) func(*v1alpha1.Application) bool {
		return func(app *v1alpha1.Application) bool {
			return strings.Contains(condition(app, v1alpha1.ConditionInvalidSpecError), text) &&
				app.Status.Sync.Status == v1alpha1.SyncStatusUnknown && app.Status.Health.Status == v1alpha1.HealthUnknown
		}
	}
	w.until(name, 30*time.Second, "refused", refused("application repo "+repo.URL+" is not permitted in project 'other-repos'"))
	w.until(elsewhere, 30*time.Second, "refused", refused("namespace '"+w.Target+"' do not match any of the allowed destinations in project 'other-namespaces'"))

	before := w.get(name)
	before.Operation = &v1alpha1.Operation{Sync: &v1alpha1.SyncOperation{}}
	if err := w.client.Update(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	w.until(name, 30*time.Second, "refused by hand, too", func(app *v1alpha1.Application) bool {
		s := app.Status.OperationState
		return app.Operation == nil && s != nil && s.Phase == v1alpha1.OperationError && strings.Contains(s.Message, "is not permitted in project")
	})
	if w.exists("a", &corev1.ConfigMap{}) {
		t.Error("something was written")
	}
	w.changeProject("other-repos", func(p *v1alpha1.AppProjectSpec) { p.SourceRepos = []string{"*"} })
	w.until(name, 30*time.Second, "converged once it is permitted", converged)
}

func TestProjectRefusesKindsAndProtectsWhatIsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{
		"app/a.yaml":   configMap("a", "data: {v: '1'}"),
		"app/svc.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n",
	})
	w.project("team", func(p *v1alpha1.AppProjectSpec) {
		p.NamespaceResourceBlacklist = []v1alpha1.GroupKind{{Kind: "Service"}}
	})
	name := w.app("shop", repo, "app", inProject("team"))
	app := w.until(name, 30*time.Second, "refused at validation", func(app *v1alpha1.Application) bool {
		s := app.Status.OperationState
		return s != nil && s.Phase == v1alpha1.OperationFailed && strings.Contains(s.Message, "resource :Service is not permitted in project team")
	})
	for _, r := range app.Status.Resources {
		want := v1alpha1.SyncStatusOutOfSync
		if r.Kind == "Service" {
			want = v1alpha1.SyncStatusUnknown
		}
		if r.Status != want {
			t.Errorf("%s is %s, want %s", r.Kind, r.Status, want)
		}
	}
	if w.exists("a", &corev1.ConfigMap{}) {
		t.Error("a part of a refused plan was written")
	}

	w.changeProject("team", func(p *v1alpha1.AppProjectSpec) { p.NamespaceResourceBlacklist = nil })
	w.until(name, 30*time.Second, "taken up without a commit", converged)
	w.changeProject("team", func(p *v1alpha1.AppProjectSpec) {
		p.NamespaceResourceBlacklist = []v1alpha1.GroupKind{{Kind: "Service"}}
	})
	w.until(name, 30*time.Second, "looked at under the project as it is now", func(app *v1alpha1.Application) bool {
		return slices.ContainsFunc(app.Status.Resources, func(r v1alpha1.ResourceStatus) bool {
			return r.Kind == "Service" && r.Status == v1alpha1.SyncStatusUnknown
		})
	})
	next := repo.Commit("drop the Service", map[string]string{"app/svc.yaml": "-", "app/a.yaml": configMap("a", "data: {v: '2'}")})
	w.until(name, 30*time.Second, "converged without it", convergedAt(next))
	if !w.exists("web", &corev1.Service{}) {
		t.Error("an object of a kind that is not permitted was pruned")
	}
}

func TestProjectThatForbidsLaterEndsTheRollout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{Own: true})
	w.env.SetRules(t, "rules:\n  - match: {kind: Job, name: slow}\n    neverFinish: true\n")
	repo := gittest.New(t, map[string]string{"app/slow.yaml": job("slow", "argocd.argoproj.io/hook", "PreSync"), "app/a.yaml": configMap("a")})
	w.project("team")
	name := w.app("shop", repo, "app", inProject("team"))
	w.until(name, 30*time.Second, "waiting for the hook", func(app *v1alpha1.Application) bool {
		return app.Status.OperationState != nil && strings.Contains(app.Status.OperationState.Message, "Job/slow")
	})
	w.changeProject("team", func(p *v1alpha1.AppProjectSpec) {
		p.NamespaceResourceBlacklist = []v1alpha1.GroupKind{{Kind: "ConfigMap"}}
	})
	w.until(name, 15*time.Second, "ended", func(app *v1alpha1.Application) bool {
		s := app.Status.OperationState
		return s.Phase == v1alpha1.OperationFailed && strings.Contains(s.Message, "resource :ConfigMap is not permitted in project team")
	})
	if w.exists("a", &corev1.ConfigMap{}) {
		t.Error("an object was written that the project had come to forbid")
	}
}
