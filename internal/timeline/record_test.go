// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package timeline_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

// faulty stands between a recorder and the API server. It can break off the
// watches of a resource and refuse to open them again.
type faulty struct {
	resource string

	mu sync.Mutex
	// answers are the status codes of the next watches; cut ends those that run.
	answers []int
	cut     context.CancelFunc
	opened  chan struct{}
}

// inFrontOf returns the configuration to reach the API server through f.
func (f *faulty) inFrontOf(t *testing.T, cfg *rest.Config) *rest.Config {
	t.Helper()
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(cfg.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/"+f.resource) || r.URL.Query().Get("watch") == "" {
			proxy.ServeHTTP(w, r)
			return
		}
		ctx, code := f.next(r.Context())
		if code != 0 {
			refuse(w, code)
			return
		}
		proxy.ServeHTTP(w, r.WithContext(ctx))
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// next is what happens to the next watch.
func (f *faulty) next(ctx context.Context) (context.Context, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.answers) > 0 {
		code := f.answers[0]
		f.answers = f.answers[1:]
		return ctx, code
	}
	ctx, f.cut = context.WithCancel(ctx)
	f.opened <- struct{}{}
	return ctx, 0
}

func (f *faulty) breakOff(answers []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers = answers
	f.cut()
}

func refuse(w http.ResponseWriter, code int) {
	reasons := map[int]metav1.StatusReason{
		http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusGone: metav1.StatusReasonExpired,
		http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests, http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	status := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: reasons[code], Code: int32(code)}
	_ = json.NewEncoder(w).Encode(status) // A client that is gone needs no answer.
}

// TestRecordSurvivesBrokenWatches: what happens while a watch is broken off is
// noted all the same; only where the server has forgotten it, when exactly it
// happened is not known.
func TestRecordSurvivesBrokenWatches(t *testing.T) {
	env := sandboxtest.Start(t, sandboxtest.Options{})
	client, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	objects := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(env.Namespace(t))
	proxy := &faulty{resource: "configmaps", opened: make(chan struct{}, 10)}
	seen := make(chan timeline.Moment, 10000)
	ctx, stop := context.WithCancel(t.Context())
	recorder, err := timeline.Record(ctx, proxy.inFrontOf(t, env.Config), func(m timeline.Moment) { seen <- m })
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		stop()
		recorder.Wait()
	}()
	<-proxy.opened

	for _, c := range []struct {
		name     string
		answers  []int
		inferred bool
	}{
		{"broken-off", nil, false},
		{"not-served-for-a-moment", []int{http.StatusNotFound, http.StatusNotFound, http.StatusNotFound}, false},
		{"busy", []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusServiceUnavailable}, false},
		{"forgotten", []int{http.StatusGone}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			proxy.breakOff(c.answers)
			obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": c.name}}}
			if _, err := objects.Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			<-proxy.opened
			timeout := time.After(3 * time.Minute)
			for {
				select {
				case m := <-seen:
					if m.Key.Name != c.name || m.What != timeline.Created {
						continue
					}
					if m.Inferred && !c.inferred {
						t.Error("only inferred, although the server could tell")
					}
					return
				case <-timeout:
					t.Fatal("not noted")
				}
			}
		})
	}
}
