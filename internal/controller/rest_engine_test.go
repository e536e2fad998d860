// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// underTest is the user agent of the controller whose requests are counted.
const underTest = "under-test"

// counted serves a repository and counts how often its refs are asked for.
func counted(t *testing.T, repo *gittest.Repository) (repoURL string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/info/refs") {
			asked.Add(1)
		}
		repo.Handler().ServeHTTP(out, r)
	}))
	t.Cleanup(server.Close)
	at, err := url.Parse(repo.URL)
	if err != nil {
		t.Fatal(err)
	}
	return server.URL + at.Path, asked
}

// requests returns what the controller has asked and written since a request,
// watches and leases aside.
func requests(t *testing.T, log string, since int) (list []string, next int) {
	t.Helper()
	all := sandboxtest.Requests(t, log)
	for _, r := range all[since:] {
		if (r.UserAgent == underTest || r.UserAgent == "wavetrain") && r.Verb != "watch" && r.ObjectRef.Resource != "leases" {
			list = append(list, r.Verb+" "+r.RequestURI)
		}
	}
	return list, len(all)
}

// Nothing is asked and nothing is written while nothing changes, however often the
// repository is polled: once for all Applications. A commit has the one Application
// looked at that it concerns; of the others only the revision is written.
func TestAtRestNothingHappens(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "audit.log")
	w := newWorldWithoutController(t, sandboxtest.Options{AuditLog: log, Own: true})
	cfg := rest.CopyConfig(w.env.Config)
	cfg.UserAgent = underTest
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	mirrors := t.TempDir()
	go func() { done <- runController(ctx, cfg, mirrors, w.Control) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("controller: %v", err)
		}
	}()

	const apps = 6
	files := map[string]string{}
	for i := range apps {
		files[fmt.Sprintf("app%d/a.yaml", i)] = configMap(fmt.Sprintf("a%d", i), "data: {v: '1'}")
	}
	repo := gittest.New(t, files)
	repoURL, asked := counted(t, repo)
	var names []types.NamespacedName
	for i := range apps {
		names = append(names, w.app(fmt.Sprintf("app%d", i), repo, fmt.Sprintf("app%d", i), func(app *v1alpha1.Application) { app.Spec.Source.RepoURL = repoURL }))
	}
	for _, name := range names {
		w.until(name, time.Minute, "converged", converged)
	}

	polls := func(n int64) {
		target := asked.Load() + n
		w.eventually(time.Minute, "the repository is polled", func() (bool, string) { return asked.Load() >= target, "" })
	}
	since := 0
	w.eventually(time.Minute, "nothing happens while the repository is polled", func() (bool, string) {
		_, since = requests(t, log, 0)
		polls(4)
		list, _ := requests(t, log, since)
		return len(list) == 0, strings.Join(list, "\n")
	})

	_, since = requests(t, log, 0)
	commit := repo.Commit("change one", map[string]string{"app0/a.yaml": configMap("a0", "data: {v: '2'}")})
	for _, name := range names {
		w.until(name, time.Minute, "at the commit", func(app *v1alpha1.Application) bool { return app.Status.Sync.Revision == commit && converged(app) })
	}
	list, _ := requests(t, log, since)
	for i, name := range names[1:] {
		var own []string
		for _, r := range list {
			if strings.Contains(r, name.Name) || strings.Contains(r, fmt.Sprintf("/a%d?", i+1)) {
				own = append(own, r)
			}
		}
		if len(own) != 1 || !strings.HasPrefix(own[0], "patch ") {
			t.Errorf("%s is not concerned by the commit, but: %s", name.Name, strings.Join(own, ", "))
		}
	}
}

// awaitHeal waits until the Application tells that one object was healed, and no other.
func (w *world) awaitHeal(name types.NamespacedName, object string) {
	w.t.Helper()
	w.until(name, time.Minute, "told that "+object+" was healed", func(app *v1alpha1.Application) bool {
		state := app.Status.OperationState
		return converged(app) && state.Operation.Sync != nil && len(state.Operation.Sync.Resources) == 1 && state.Operation.Sync.Resources[0].Name == object
	})
}

// However often somebody edits an object, its Application is written at most once
// in five seconds for it, and in the end its status says how it is.
func TestHealsAreWrittenTogether(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "audit.log")
	w := newWorld(t, sandboxtest.Options{AuditLog: log, Own: true})
	const objects = 8
	files := map[string]string{}
	for i := range objects {
		files[fmt.Sprintf("app/a%d.yaml", i)] = configMap(fmt.Sprintf("a%d", i), "data: {v: '1'}")
	}
	name := w.app("shop", gittest.New(t, files), "app")
	w.until(name, time.Minute, "converged", converged)
	since := 0
	for i := range objects {
		live := &corev1.ConfigMap{}
		live.Namespace, live.Name = w.Target, fmt.Sprintf("a%d", i)
		w.must(w.client.Patch(t.Context(), live, client.RawPatch(types.MergePatchType, []byte(`{"data":{"v":"edited"}}`))))
		w.eventually(30*time.Second, live.Name+" is healed", func() (bool, string) {
			w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(live), live))
			return live.Data["v"] == "1", live.Data["v"]
		})
		if i == 0 {
			// The sync itself and the first heal are written at once.
			w.awaitHeal(name, "a0")
			since = len(sandboxtest.Requests(t, log))
		}
	}
	w.awaitHeal(name, fmt.Sprintf("a%d", objects-1))
	var last time.Time
	for _, r := range sandboxtest.Requests(t, log)[since:] {
		if r.ObjectRef.Resource != "applications" || r.ObjectRef.Name != name.Name || r.Verb != "patch" {
			continue
		}
		at := r.RequestReceivedTimestamp.Time
		if !last.IsZero() && at.Sub(last) < 5*time.Second {
			t.Errorf("the Application is written %s after the time before", at.Sub(last))
		}
		last = at
	}
}
