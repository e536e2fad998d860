// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wavetrain/wavetrain/internal/source"
	"github.com/wavetrain/wavetrain/internal/source/sourcetest"
)

// What was asked before somebody announced a new version is no answer to who asks
// afterwards, though it comes then.
func TestChartsThatAreAnnounced(t *testing.T) {
	helm := sourcetest.NewHelmRepository(t)
	helm.Publish(t, "redis", "1.0.0")
	registry := sourcetest.Registry(t, "")
	push := func(version string) {
		sourcetest.Push(t, registry+"/redis", version, map[string][]byte{sourcetest.ChartLayer: sourcetest.Chart(t, "redis", version)})
	}
	push("1.0.0")
	// The first answer is held back when it is known.
	behind := func(base string) (string, *atomic.Bool, chan struct{}, chan struct{}) {
		origin, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		hold, held, release := &atomic.Bool{}, make(chan struct{}), make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			httputil.NewSingleHostReverseProxy(origin).ServeHTTP(answer, r)
			if (strings.Contains(r.URL.Path, "/tags/") || strings.Contains(r.URL.Path, "index.yaml")) && hold.CompareAndSwap(true, false) {
				held <- struct{}{}
				<-release
			}
			maps.Copy(w.Header(), answer.Header())
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
		}))
		t.Cleanup(server.Close)
		return server.URL, hold, held, release
	}
	for kind, c := range map[string]struct {
		base    string
		publish func()
	}{
		"helm": {helm.URL, func() { helm.Publish(t, "redis", "1.1.0") }},
		"oci":  {"http://" + registry, func() { push("1.1.0") }},
	} {
		t.Run(kind, func(t *testing.T) {
			at, hold, held, release := behind(c.base)
			target := source.Target{Repository: source.Repository{URL: at}, Chart: "redis", Revision: "1.x"}
			if kind == "oci" {
				target.Repository = source.Repository{URL: strings.Replace(at, "http://", "oci://", 1), PlainHTTP: true}
			}
			store := newStore(t, source.Options{IndexTTL: time.Hour})
			hold.Store(true)
			first := make(chan error)
			go func() {
				_, err := store.Locate(t.Context(), target)
				first <- err
			}()
			<-held
			c.publish()
			store.Forget(target.Repository.URL)
			if got, err := store.Locate(t.Context(), target); err != nil || got != "1.1.0" {
				t.Errorf("who asks afterwards is told %s, %v", got, err)
			}
			release <- struct{}{}
			if err := <-first; err != nil {
				t.Error(err)
			}
			if got, err := store.Locate(t.Context(), target); err != nil || got != "1.1.0" {
				t.Errorf("when the old answer has come: %s, %v", got, err)
			}
		})
	}
}
