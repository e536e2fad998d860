// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// account makes a service account in the target namespace and returns its subject
// and a token.
func (w *world) account(name string) (rbacv1.Subject, string) {
	w.t.Helper()
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Target, Name: name}}
	w.must(w.client.Create(w.t.Context(), sa))
	clients, err := kubernetes.NewForConfig(w.env.Config)
	w.must(err)
	token, err := clients.CoreV1().ServiceAccounts(w.Target).CreateToken(w.t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	w.must(err)
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: w.Target, Name: name}, token.Status.Token
}

// grant lets a subject do everything with resources, "group/resource", of a
// namespace.
func (w *world) grant(subject rbacv1.Subject, namespace string, resources ...string) {
	w.t.Helper()
	name := fmt.Sprintf("grant-%d", time.Now().UnixNano())
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, r := range resources {
		group, resource, _ := strings.Cut(r, "/")
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{"*"}})
	}
	w.must(w.client.Create(w.t.Context(), role))
	w.must(w.client.Create(w.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Subjects: []rbacv1.Subject{subject},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
	}))
}

// With credentials for two namespaces and a registration that says so, Applications
// are delivered there and nothing is asked of the cluster as a whole. What cannot be
// seen is named by the Application that has it, and harms no other; it is delivered
// when the registration and the rights allow it.
func TestCredentialsForNamespaces(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "audit.log")
	w := newWorld(t, sandboxtest.Options{AuditLog: log, Own: true})
	second, role := w.env.Namespace(t), w.named("viewer")
	limited, token := w.account("limited")
	w.grant(limited, w.Target, "/configmaps", "/secrets", "apps/deployments")
	w.grant(limited, second, "/configmaps")
	registration := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Control, Name: "cluster-limited", Labels: map[string]string{"argocd.argoproj.io/secret-type": "cluster"}},
		StringData: map[string]string{
			"name": "limited", "server": w.env.Config.Host, "namespaces": w.Target + ", " + second,
			"config": `{"bearerToken":"` + token + `","tlsClientConfig":{"insecure":true}}`,
		},
	}
	w.must(w.client.Create(t.Context(), registration))
	repo := gittest.New(t, map[string]string{
		"web/a.yaml":    configMap("web") + "---\n" + deployment("web", "0"),
		"second/a.yaml": configMap("second"),
		"secret/a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: secret}\nstringData: {a: b}\n",
		"role/a.yaml":   configMap("beside") + "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: " + role + "}\nrules: []\n",
	})
	into := func(namespace string) func(*v1alpha1.Application) {
		return func(app *v1alpha1.Application) {
			app.Spec.Destination = v1alpha1.ApplicationDestination{Name: "limited", Namespace: namespace}
			app.Spec.SyncPolicy.SyncOptions = []string{"CreateNamespace=true"}
		}
	}
	web := w.app("web", repo, "web", into(w.Target))
	other := w.app("second", repo, "second", into(second))
	secret := w.app("secret", repo, "secret", into(second))
	roles := w.app("role", repo, "role", into(second))
	outside := w.app("outside", repo, "second", into("default"))
	cannot := func(text string) func(*v1alpha1.Application) bool {
		return func(app *v1alpha1.Application) bool {
			return strings.Contains(condition(app, v1alpha1.ConditionComparisonError), text) && app.Status.Sync.Status == v1alpha1.SyncStatusUnknown && app.Status.OperationState == nil
		}
	}
	w.until(web, time.Minute, "converged", converged)
	w.until(other, time.Minute, "converged", converged)
	w.until(secret, time.Minute, "told what may not be read", cannot("watch Secret in namespace "+second))
	w.until(roles, time.Minute, "told what is not registered", cannot(`ClusterRole/`+role+` on `+w.env.Config.Host+`: it lies in no namespace`))
	w.until(outside, time.Minute, "told where it is not registered", cannot("add the namespace to namespaces in the cluster's Secret"))
	if w.exists("beside", &corev1.ConfigMap{}) {
		t.Error("something was written of an Application that cannot be compared")
	}

	edited := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: second, Name: "second"}}
	w.must(w.client.Patch(t.Context(), edited, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"argocd.argoproj.io/tracking-id":"edited"}}}`))))
	w.eventually(30*time.Second, "the edit is healed", func() (bool, string) {
		w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(edited), edited))
		return edited.Annotations["argocd.argoproj.io/tracking-id"] != "edited", fmt.Sprint(edited.Annotations)
	})
	for _, r := range sandboxtest.Requests(t, log) {
		if strings.HasSuffix(r.User.Username, ":limited") && r.ObjectRef.Resource != "" && r.ObjectRef.Namespace == "" {
			t.Errorf("the cluster as a whole was asked: %s %s", r.Verb, r.RequestURI)
		}
	}

	server := w.env.Config.Host
	if n := metric(t, "wavetrain_cluster_forbidden_kinds", server, "", "Secret", second); n != 1 {
		t.Errorf("that Secrets may not be read is told by %g samples", n)
	}
	if n := metric(t, "wavetrain_cluster_stale_kinds", server); n < 1 {
		t.Errorf("%g kinds are told to be out of date", n)
	}
	if n := metric(t, "wavetrain_cluster_objects", server, "apps", "Deployment"); n != 1 {
		t.Errorf("%g Deployments are told to be kept", n)
	}
	// One for each of the namespaces, at least.
	if n := metric(t, "wavetrain_cluster_lists_total", server, "", "ConfigMap"); n < 2 {
		t.Errorf("ConfigMaps are told to have been listed %g times", n)
	}

	// More rights, and a registration for more.
	w.grant(limited, second, "/secrets")
	w.must(w.client.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role + "-more"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, Verbs: []string{"*"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}},
	}}))
	w.must(w.client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role + "-more"}, Subjects: []rbacv1.Subject{limited},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role + "-more"},
	}))
	w.must(w.client.Patch(t.Context(), registration, client.RawPatch(types.MergePatchType, []byte(`{"stringData":{"clusterResources":"true"}}`))))
	w.until(roles, time.Minute, "converged", converged)
	w.until(secret, 2*time.Minute, "converged", converged)
	if n := metric(t, "wavetrain_cluster_forbidden_kinds", server, "", "Secret", second); n != 0 {
		t.Error("that Secrets may not be read is still told")
	}
	w.until(outside, time.Minute, "still told where it is not registered", cannot("add the namespace to namespaces in the cluster's Secret"))
	if err := w.client.Get(t.Context(), types.NamespacedName{Name: role}, &rbacv1.ClusterRole{}); apierrors.IsNotFound(err) {
		t.Error("the ClusterRole is not there")
	}
}
