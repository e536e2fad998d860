// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"path/filepath"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// permitted waits until the API server lets somebody do something in the target
// namespace: a role takes effect a moment after it is written.
func (w *world) permitted(user, verb, resource string) {
	w.t.Helper()
	w.eventually(patient, user+" may "+verb+" "+resource, func() (bool, string) {
		review := &authorizationv1.LocalSubjectAccessReview{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Target},
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: w.Target, Verb: verb, Resource: resource},
			},
		}
		w.must(w.client.Create(w.t.Context(), review))
		return review.Status.Allowed, review.Status.Reason
	})
}

// TestEveryWriteOfASyncIsImpersonated reads in the API server's audit log as whom
// objects were written and read, from the first dry run to the deletion of the
// Application.
func TestEveryWriteOfASyncIsImpersonated(t *testing.T) {
	t.Parallel()
	audit := filepath.Join(t.TempDir(), "audit.log")
	w := newWorldWithoutController(t, sandboxtest.Options{Own: true, AuditLog: audit})
	settings := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Control, Name: "argocd-cm"},
		Data:       map[string]string{"application.sync.impersonation.enabled": "true"},
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Target, Name: "deployer"}}
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Target, Name: "deployer"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"", "batch"}, Resources: []string{"configmaps", "jobs"}, Verbs: []string{"create", "patch", "update", "delete"}}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Target, Name: "deployer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "deployer"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: w.Target, Name: "deployer"}},
	}
	w.must(w.client.Create(t.Context(), settings))
	w.must(w.client.Create(t.Context(), account))
	w.must(w.client.Create(t.Context(), role))
	w.must(w.client.Create(t.Context(), binding))
	user := "system:serviceaccount:" + w.Target + ":deployer"
	w.permitted(user, "patch", "configmaps")
	w.startProcess(t.TempDir())
	repo := gittest.New(t, map[string]string{
		"app/a.yaml": configMap("a"), "app/b.yaml": configMap("b"), "app/hook.yaml": job("hook", "argocd.argoproj.io/hook", "PreSync"),
	})
	w.project("team", func(p *v1alpha1.AppProjectSpec) {
		p.DestinationServiceAccounts = []v1alpha1.DestinationServiceAccount{{Server: "*", Namespace: "*", DefaultServiceAccount: "deployer"}}
	})
	name := w.app("shop", repo, "app", inProject("team"), func(app *v1alpha1.Application) { app.Finalizers = []string{v1alpha1.FinalizerResources} })
	w.until(name, 30*time.Second, "converged", converged)
	next := repo.Commit("change", map[string]string{"app/a.yaml": configMap("a", "data: {v: '2'}"), "app/b.yaml": "-"})
	w.until(name, 30*time.Second, "at the next commit", convergedAt(next))
	w.must(w.client.Delete(t.Context(), w.get(name)))
	w.untilGone(name, 30*time.Second)

	seen := map[string]bool{}
	for _, r := range sandboxtest.Requests(t, audit) {
		ours := r.UserAgent == "wavetrain" && r.ObjectRef.Namespace == w.Target &&
			(r.ObjectRef.Resource == "configmaps" || r.ObjectRef.Resource == "jobs")
		if !ours {
			continue
		}
		what := r.Verb + " " + r.ObjectRef.Resource + "/" + r.ObjectRef.Name
		if r.DryRun() {
			what += " (dry run)"
		}
		reads := r.Verb == "get" || r.Verb == "list" || r.Verb == "watch"
		switch {
		case reads && r.ImpersonatedUser.Username != "":
			t.Errorf("%s: read as %s", what, r.ImpersonatedUser.Username)
		case reads:
		case r.ImpersonatedUser.Username == user:
			seen[what] = true
		case r.ImpersonatedUser.Username != "":
			t.Errorf("%s: as %s, want %s", what, r.ImpersonatedUser.Username, user)
		case r.DryRun() || what == "patch jobs/hook":
			// What compares is not a sync, and the hook's finalizer is our own.
		default:
			t.Errorf("%s: as the controller, want as %s", what, user)
		}
	}
	for _, what := range []string{"patch configmaps/a (dry run)", "patch configmaps/a", "create jobs/hook", "delete configmaps/b", "delete configmaps/a"} {
		if !seen[what] {
			t.Errorf("%s: not as %s; what was: %v", what, user, seen)
		}
	}
}
