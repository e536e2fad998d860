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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
	"github.com/wavetrain/wavetrain/internal/source"
)

// startHourly runs a controller that polls once an hour: what a test waits for comes
// by other means.
func (w *world) startHourly(t *testing.T, change ...func(*controller.Options)) *controller.Controller {
	t.Helper()
	store, err := source.NewStore(source.Options{Dir: t.TempDir(), Env: gittest.Env()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	opts := controller.Options{Config: w.env.Config, Namespace: w.Control, Sources: store, PollInterval: time.Hour}
	for _, c := range change {
		c(&opts)
	}
	c, err := controller.New(opts)
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
	post := func(url, secret string) int { return announce(t, c, url, secret) }
	answers := func(url, secret string, want int) {
		t.Helper()
		w.eventually(patient, fmt.Sprint("the answer is ", want), func() (bool, string) {
			code := post(url, secret)
			return code == want, fmt.Sprint("code ", code)
		})
	}
	// The controller learns of the Secrets a moment after they are written.
	answers("https://elsewhere.test/repo.git", "wrong", http.StatusUnauthorized)
	answers("https://elsewhere.test/repo.git", "s3cret", http.StatusOK)
	head := repo.Commit("second", map[string]string{"app/a.yaml": configMap("a", "data: {v: '2'}")})
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

// announce posts GitHub's announcement of a push to a controller.
func announce(t *testing.T, c *controller.Controller, url, secret string) int {
	t.Helper()
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

// A push that is announced to a replica which does not act is heard by the one that
// does, and no Application is written to for that.
func TestWebhookAtAnotherReplica(t *testing.T) {
	t.Parallel()
	w := newWorldWithoutController(t, sandboxtest.Options{})
	election := func(o *controller.Options) { o.LeaderElection = true }
	w.startHourly(t, election)
	repo := gittest.New(t, map[string]string{"app/a.yaml": configMap("a", "data: {v: '1'}")})
	name := w.app("shop", repo, "app")
	w.until(name, time.Minute, "at the first commit", convergedAt(repo.Git("rev-parse", "HEAD")))
	// There is somebody who acts, so the second one does not.
	follower := w.startHourly(t, election)
	watcher, err := w.client.Watch(t.Context(), &v1alpha1.ApplicationList{}, client.InNamespace(w.Control))
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	for n := 2; n <= 4; n++ { // the first makes what the others change
		head := repo.Commit("next", map[string]string{"app/a.yaml": configMap("a", fmt.Sprintf("data: {v: '%d'}", n))})
		w.eventually(time.Minute, "the follower answers", func() (bool, string) {
			code := announce(t, follower, repo.URL, "")
			return code == http.StatusOK, fmt.Sprint("code ", code)
		})
		w.until(name, time.Minute, "at the next commit", convergedAt(head))
	}
	last := w.get(name).ResourceVersion
	for e := range watcher.ResultChan() {
		app, ok := e.Object.(*v1alpha1.Application)
		if !ok {
			t.Fatalf("%T in the watch", e.Object)
		}
		if _, asked := app.Annotations[v1alpha1.AnnotationRefresh]; asked {
			t.Error("the Application was written to")
		}
		if app.ResourceVersion == last {
			break
		}
	}
}

// A push to the repository of a base has the Applications looked at that use it,
// whichever replica hears of it.
func TestWebhookOfABase(t *testing.T) {
	t.Parallel()
	w := newWorldWithoutController(t, sandboxtest.Options{})
	bases := gittest.New(t, map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": configMap("a", "data: {v: '1'}")})
	allow := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Control, Name: "argocd-cm"},
		Data:       map[string]string{"wavetrain.dev.kustomize.remoteBases": bases.URL[:strings.LastIndex(bases.URL, "/")]},
	}
	if err := w.client.Create(t.Context(), allow); err != nil {
		t.Fatal(err)
	}
	election := func(o *controller.Options) { o.LeaderElection = true }
	leader := w.startHourly(t, election)
	repo := gittest.New(t, map[string]string{"app/kustomization.yaml": "resources: ['" + bases.URL + "?ref=main']\n"})
	name := w.app("shop", repo, "app")
	w.until(name, time.Minute, "at the first commit", convergedAt(repo.Git("rev-parse", "HEAD")))
	follower := w.startHourly(t, election)
	for version, replica := range map[string]*controller.Controller{"of the leader": leader, "of the follower": follower} {
		bases.Commit("next", map[string]string{"a.yaml": configMap("a", "data: {v: '"+version+"'}")})
		w.eventually(time.Minute, "the replica answers", func() (bool, string) {
			code := announce(t, replica, bases.URL, "")
			return code == http.StatusOK, fmt.Sprint("code ", code)
		})
		w.eventually(time.Minute, "the base "+version+" is delivered", func() (bool, string) {
			live := &corev1.ConfigMap{}
			if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.Target, Name: "a"}, live); err != nil {
				return false, err.Error()
			}
			return live.Data["v"] == version, live.Data["v"]
		})
	}
}

func TestWebhookPayloadSize(t *testing.T) {
	t.Parallel()
	w := newWorldWithoutController(t, sandboxtest.Options{})
	c := w.startHourly(t)
	post := func(size int) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, controller.WebhookPath, strings.NewReader("{"+strings.Repeat(" ", size-2)+"}"))
		r.Header.Set("X-Github-Event", "ping")
		answer := httptest.NewRecorder()
		c.Webhooks().ServeHTTP(answer, r)
		return answer.Code
	}
	w.eventually(time.Minute, "the controller is there", func() (bool, string) {
		code := post(2 << 20)
		return code == http.StatusOK, fmt.Sprint("code ", code)
	})
	if err := w.client.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Control, Name: "argocd-cm"}, Data: map[string]string{"webhook.maxPayloadSizeMB": "1"},
	}); err != nil {
		t.Fatal(err)
	}
	w.eventually(time.Minute, "the bound is known", func() (bool, string) {
		code := post(2 << 20)
		return code == http.StatusBadRequest, fmt.Sprint("code ", code)
	})
	if code := post(1 << 20); code != http.StatusOK {
		t.Errorf("what the bound permits: code %d", code)
	}
}
