// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
	"github.com/wavetrain/wavetrain/internal/source"
)

// startHourly runs a controller that polls once an hour: what a test waits for comes
// by other means.
func (w *world) startHourly(t *testing.T) *controller.Controller {
	t.Helper()
	store, err := source.NewStore(source.Options{Dir: t.TempDir(), Env: gittest.Env()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	c, err := controller.New(controller.Options{Config: w.env.Config, Namespace: w.Control, Sources: store, PollInterval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("controller: %v", err)
		}
	})
	return c
}

func TestWebhookBringsACommit(t *testing.T) {
	t.Parallel()
	w := newWorldWithoutController(t, sandboxtest.Options{})
	c := w.startHourly(t)
	repo := gittest.New(t, map[string]string{"app/a.yaml": configMap("a", "data: {v: '1'}")})
	name := w.app("shop", repo, "app")
	w.until(name, 60*time.Second, "at the first commit", convergedAt(repo.Git("rev-parse", "HEAD")))
	for _, secret := range []*corev1.Secret{
		{ObjectMeta: metav1.ObjectMeta{Namespace: w.Control, Name: "argocd-secret"}, StringData: map[string]string{"webhook.github.secret": "$hooks:github"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: w.Control, Name: "hooks"}, StringData: map[string]string{"github": "s3cret"}},
	} {
		if err := w.client.Create(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	head := repo.Commit("second", map[string]string{"app/a.yaml": configMap("a", "data: {v: '2'}")})
	post := func(url, secret string) int {
		body := fmt.Sprintf(`{"ref":"refs/heads/main","repository":{"clone_url":%q}}`, url)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, controller.WebhookPath, strings.NewReader(body))
		r.Header.Set("X-Github-Event", "push")
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		answer := httptest.NewRecorder()
		c.Webhooks().ServeHTTP(answer, r)
		return answer.Code
	}
	if code := post(repo.URL, "wrong"); code != http.StatusUnauthorized {
		t.Errorf("a push that is not authenticated: code %d", code)
	}
	if code := post("https://elsewhere.test/repo.git", "s3cret"); code != http.StatusOK {
		t.Errorf("a push to another repository: code %d", code)
	}
	if app := w.get(name); convergedAt(head)(app) {
		t.Error("the commit was seen before anybody announced it")
	}
	if code := post(repo.URL, "s3cret"); code != http.StatusOK {
		t.Errorf("a push: code %d", code)
	}
	w.until(name, 60*time.Second, "at the second commit", convergedAt(head))
}
