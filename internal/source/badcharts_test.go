// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wavetrain/wavetrain/internal/source"
	"github.com/wavetrain/wavetrain/internal/source/sourcetest"
)

// Helm repositories and registries that misbehave, in what they are asked first and
// in what comes later.
func TestChartServersThatMisbehave(t *testing.T) {
	answers := func(code int) misbehaviour {
		return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(code) }
	}
	reset := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		half(w, r, next)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
	for name, c := range map[string]struct {
		answer misbehaviour
		reason source.Reason
		words  string
	}{
		"401":   {answers(401), source.Unauthenticated, "401"},
		"403":   {answers(403), source.Forbidden, "403"},
		"404":   {answers(404), source.NotFound, ""},
		"429":   {answers(429), source.RateLimited, "429"},
		"500":   {answers(500), source.Unavailable, "500"},
		"503":   {answers(503), source.Unavailable, "503"},
		"hangs": {func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }, source.Unavailable, "no answer within 1s"},
		"hangs half way": {func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			half(w, r, next)
			<-r.Context().Done()
		}, source.Unavailable, "no answer within 1s"},
		"resets": {reset, source.Unavailable, "breaks the connection"},
	} {
		for kind, at := range chartServers(t, c.answer) {
			t.Run(name+" "+kind, func(t *testing.T) {
				_, err := opened(t, newStore(t, source.Options{IndexTTL: time.Nanosecond, Timeout: time.Second}), at)
				var failed *source.Error
				if !errors.As(err, &failed) || failed.Reason != c.reason || !strings.Contains(err.Error(), c.words) || !strings.Contains(err.Error(), at.Repository.URL) {
					t.Errorf("got error %v; want reason %s, %q and the repository in it", err, c.reason, c.words)
				}
			})
		}
	}
}

// misbehaviour answers in the place of a server that would answer well.
type misbehaviour func(w http.ResponseWriter, r *http.Request, next http.Handler)

// half sends the first half of an answer.
func half(w http.ResponseWriter, r *http.Request, next http.Handler) {
	whole := httptest.NewRecorder()
	next.ServeHTTP(whole, r)
	maps.Copy(w.Header(), whole.Header())
	w.WriteHeader(whole.Code)
	_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
	_ = http.NewResponseController(w).Flush()
}

// chartServers are a Helm repository and a registry that answer so, each in the first
// or in a later request.
func chartServers(t *testing.T, answer misbehaviour) map[string]source.Target {
	t.Helper()
	helm := sourcetest.NewHelmRepository(t)
	helm.Publish(t, "redis", "1.0.0")
	registry := sourcetest.Registry(t, "")
	sourcetest.Push(t, registry+"/redis", "1.0.0", map[string][]byte{sourcetest.ChartLayer: sourcetest.Chart(t, "redis", "1.0.0")})
	behind := func(base, part string) string {
		origin, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next := httputil.NewSingleHostReverseProxy(origin)
			// What a tag means is asked with HEAD, which has no content to break off.
			if strings.Contains(r.URL.Path, part) && (r.Method == http.MethodGet || part != "/manifests/") {
				answer(w, r, next)
				return
			}
			next.ServeHTTP(w, r)
		}))
		t.Cleanup(func() {
			// Some answers never end.
			server.CloseClientConnections()
			server.Close()
		})
		return server.URL
	}
	targets := map[string]source.Target{}
	for kind, part := range map[string]string{"index": "index.yaml", "chart": ".tgz"} {
		targets[kind] = source.Target{Repository: source.Repository{URL: behind(helm.URL, part), Known: true}, Chart: "redis", Revision: "1.0.0"}
	}
	for kind, part := range map[string]string{"manifest": "/manifests/", "blob": "/blobs/"} {
		host := strings.TrimPrefix(behind("http://"+registry, part), "http://")
		targets[kind] = source.Target{Repository: source.Repository{URL: "oci://" + host, PlainHTTP: true, Known: true}, Chart: "redis", Revision: "1.0.0"}
	}
	return targets
}

// Certificates of chart servers go by the same ConfigMap as those of Git servers.
func TestChartServersThatAreNotTrusted(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	for name, at := range map[string]source.Target{
		"helm": {Repository: source.Repository{URL: server.URL}, Chart: "redis", Revision: "1.0.0"},
		"oci":  {Repository: source.Repository{URL: "oci://" + strings.TrimPrefix(server.URL, "https://")}, Chart: "redis", Revision: "1.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newStore(t, source.Options{}).Locate(t.Context(), at)
			var failed *source.Error
			if !errors.As(err, &failed) || failed.Reason != source.Untrusted || !strings.Contains(err.Error(), "argocd-tls-certs-cm under the key 127.0.0.1") {
				t.Errorf("without the certificate: %v", err)
			}
			at.Repository.Credentials.Authorities = authority
			_, err = newStore(t, source.Options{}).Locate(t.Context(), at)
			if !errors.As(err, &failed) || failed.Reason != source.NotFound {
				t.Errorf("with the certificate there is nothing: %v", err)
			}
		})
	}
}

// An index that names a great many versions of one chart.
func TestManyVersions(t *testing.T) {
	server := sourcetest.NewHelmRepository(t)
	var index strings.Builder
	index.WriteString("apiVersion: v1\nentries:\n  redis:\n")
	for v := range 20_000 {
		fmt.Fprintf(&index, "  - version: 1.%d.0\n    urls: [charts/x.tgz]\n", v)
	}
	server.Index = index.String()
	got, err := newStore(t, source.Options{}).Locate(t.Context(), source.Target{Repository: source.Repository{URL: server.URL}, Chart: "redis", Revision: "<1.15000.0"})
	if err != nil || got != "1."+strconv.Itoa(14_999)+".0" {
		t.Errorf("got %s, %v", got, err)
	}
}
