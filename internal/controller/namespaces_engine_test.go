// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
	"github.com/wavetrain/wavetrain/internal/source"
)

// serviceAccount makes a service account of the control namespace that may do
// everything in the namespaces, and nothing else.
func (w *world) serviceAccount(name string, namespaces ...string) *rest.Config {
	w.t.Helper()
	ctx := w.t.Context()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Control, Name: name}}
	if err := w.client.Create(ctx, account); err != nil {
		w.t.Fatal(err)
	}
	for _, namespace := range namespaces {
		role := &rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}},
		}
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: w.Control, Name: name}},
		}
		if err := w.client.Create(ctx, role); err != nil {
			w.t.Fatal(err)
		}
		if err := w.client.Create(ctx, binding); err != nil {
			w.t.Fatal(err)
		}
	}
	token := &authenticationv1.TokenRequest{}
	if err := w.client.SubResource("token").Create(ctx, account, token); err != nil {
		w.t.Fatal(err)
	}
	cfg := rest.AnonymousClientConfig(w.env.Config)
	cfg.BearerToken = token.Status.Token
	return cfg
}

// A controller that is told of no other namespaces, or of some by name, needs
// rights in these alone to see their Applications.
func TestApplicationsAreReadWhereTheyMayLive(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]bool{"control namespace alone": false, "others by name": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorldWithoutController(t, sandboxtest.Options{})
			namespaces, given := []string{w.Control}, []string(nil)
			if others {
				namespaces, given = append(namespaces, w.Target), []string{w.Target}
			}
			cfg := w.serviceAccount("controller", namespaces...)
			store, err := source.NewStore(source.Options{Dir: t.TempDir(), Env: gittest.Env()})
			if err != nil {
				t.Fatal(err)
			}
			c, err := controller.New(controller.Options{Config: cfg, Namespace: w.Control, ApplicationNamespaces: given, Sources: store})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
			done := make(chan error, 1)
			go func() { done <- c.Run(ctx) }()
			defer func() {
				stop()
				if err := <-done; err != nil {
					t.Errorf("controller: %v", err)
				}
			}()
			repo := gittest.New(t, map[string]string{"app/a.yaml": configMap("a")})
			w.project("team", func(p *v1alpha1.AppProjectSpec) { p.SourceNamespaces = []string{w.Target} })
			where := w.Control
			if others {
				where = w.Target
			}
			app := w.app("shop", repo, "app", inProject("team"), func(app *v1alpha1.Application) { app.Namespace = where })
			// It has no rights on the destination: that it says so shows that the
			// Application was seen.
			w.until(app, 30*time.Second, "looked at", func(app *v1alpha1.Application) bool {
				return len(app.Status.Conditions) > 0
			})
		})
	}
}
