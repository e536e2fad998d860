// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/wavetrain/wavetrain/internal/source"
	"github.com/wavetrain/wavetrain/internal/source/sourcetest"
)

// linkLocal is where clouds tell machines their secrets.
const linkLocal = "http://169.254.169.254/latest/meta-data"

// Servers that send us to where only we can reach.
func TestServersThatSendUsElsewhere(t *testing.T) {
	elsewhere := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, linkLocal, http.StatusFound) }
	everything := httptest.NewServer(http.HandlerFunc(elsewhere))
	t.Cleanup(everything.Close)
	registry := func(blobs bool, handler http.HandlerFunc) string {
		host := sourcetest.Registry(t, "")
		sourcetest.Push(t, host+"/x", "1", map[string][]byte{sourcetest.PlainLayer: sourcetest.Tarball(t, map[string]string{"a": "1"})})
		origin, err := url.Parse("http://" + host)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if blobs == strings.Contains(r.URL.Path, "/blobs/") {
				handler(w, r)
				return
			}
			httputil.NewSingleHostReverseProxy(origin).ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		return "oci://" + strings.TrimPrefix(server.URL, "http://") + "/x"
	}
	helm := sourcetest.NewHelmRepository(t)
	helm.Publish(t, "redis", "1.0.0")
	helm.Index = strings.Replace(helm.Index, "- charts/", "- "+linkLocal+"/", 1)
	for name, c := range map[string]struct {
		reason string
		target source.Target
		words  string
	}{
		"git":        {"the repository redirects", source.Target{Repository: source.Repository{URL: everything.URL + "/repo.git"}}, "another host, http://169.254.169.254"},
		"helm index": {"the index redirects", source.Target{Repository: source.Repository{URL: everything.URL}, Chart: "redis", Revision: "1.0.0"}, "169.254.169.254:80 is a link-local address"},
		"helm chart": {"the index names such a place", source.Target{Repository: source.Repository{URL: helm.URL}, Chart: "redis", Revision: "1.0.0"}, "169.254.169.254:80 is a link-local address"},
		"oci":        {"the registry redirects", source.Target{Repository: source.Repository{URL: registry(false, elsewhere), PlainHTTP: true}, Revision: "1"}, "169.254.169.254:80 is a link-local address"},
		"oci blob":   {"the registry keeps its content there", source.Target{Repository: source.Repository{URL: registry(true, elsewhere), PlainHTTP: true}, Revision: "1"}, "169.254.169.254:80 is a link-local address"},
		"oci token": {"the registry has tokens given out there", source.Target{Repository: source.Repository{URL: registry(false, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+linkLocal+`",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}), PlainHTTP: true, Credentials: source.Credentials{Username: "me", Password: password}}, Revision: "1"}, "169.254.169.254"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := opened(t, newStore(t, source.Options{IndexTTL: time.Nanosecond}), c.target)
			var failed *source.Error
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), c.words) || !strings.Contains(err.Error(), c.target.Repository.URL) || strings.Contains(err.Error(), password) {
				t.Errorf("%s: got error %v; want %q and the repository in it", c.reason, err, c.words)
			}
		})
	}
}
