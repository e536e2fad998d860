// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// An Application of a private repository says what is missing, one thing after the
// other, and goes on when it is there, without waiting for a poll or a retry: those
// are minutes away here.
func TestPrivateRepository(t *testing.T) {
	t.Parallel()
	w := newWorldWithoutController(t, sandboxtest.Options{})
	w.startHourly(t)
	repo := gittest.New(t, map[string]string{"app/a.yaml": configMap("a", "data: {v: '1'}")})
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "robot" || password != "s3cret" {
			rw.Header().Set("WWW-Authenticate", "Basic realm=git")
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		repo.Handler().ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	name := w.app("shop", repo, "app", func(app *v1alpha1.Application) { app.Spec.Source.RepoURL = server.URL + "/repo.git" })
	says := func(words string) func(*v1alpha1.Application) bool {
		return func(app *v1alpha1.Application) bool {
			return strings.Contains(condition(app, v1alpha1.ConditionComparisonError), words)
		}
	}
	w.until(name, time.Minute, "the certificate is not trusted", says("argocd-tls-certs-cm under the key 127.0.0.1"))

	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := w.client.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Control, Name: "argocd-tls-certs-cm"}, Data: map[string]string{"127.0.0.1": string(certificate)},
	}); err != nil {
		t.Fatal(err)
	}
	w.until(name, time.Minute, "there are no credentials", says("401 Unauthorized: there are no credentials for it, add them with 'wavetrain repo add"))

	template := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Control, Name: "all", Labels: map[string]string{controller.SecretTypeLabel: controller.SecretTypeTemplate}},
		StringData: map[string]string{"url": server.URL, "username": "robot", "password": "wrong"},
	}
	if err := w.client.Create(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	w.until(name, time.Minute, "the credentials are wrong", says("correct the credentials in its repository Secret"))

	template.StringData = map[string]string{"password": "s3cret"}
	if err := w.client.Update(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	w.until(name, time.Minute, "delivered", convergedAt(repo.Git("rev-parse", "HEAD")))
}
