// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/internal/source"
)

// Tests reach loopback servers only, which is what must be refused; that a public
// one is read shows at the proxy, which is not asked where it stands.
func TestValueFiles(t *testing.T) {
	asked := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch {
		case strings.HasSuffix(r.URL.Path, "/large.yaml"):
			_, _ = w.Write(make([]byte, 5<<20))
		case strings.HasSuffix(r.URL.Path, "/gone.yaml"):
			http.NotFound(w, r)
		default:
			_, _ = w.Write([]byte("from: " + r.URL.Host + "\n"))
		}
	}))
	defer proxy.Close()
	open := func(env ...string) *source.Store {
		store, err := source.NewStore(source.Options{Dir: t.TempDir(), Env: env})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	both := []string{"http", "https"}
	store := open("http_proxy=" + proxy.URL)
	for range 2 {
		content, err := store.ValueFile(t.Context(), "http://values.example.test/a.yaml", both)
		if err != nil || string(content) != "from: values.example.test\n" {
			t.Fatalf("%q, %v", content, err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times within a minute", asked)
	}
	for url, want := range map[string]string{
		"http://values.example.test/large.yaml": "larger than 4 MiB", "http://values.example.test/gone.yaml": "404",
		"ftp://values.example.test/a.yaml": "not read by ftp", "http://u:p@values.example.test/a.yaml": "password", "http:///a.yaml": "no URL",
	} {
		if _, err := store.ValueFile(t.Context(), url, both); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not say %q", url, err, want)
		}
	}
	if _, err := store.ValueFile(t.Context(), "http://values.example.test/b.yaml", []string{"https"}); err == nil {
		t.Error("the scheme is not allowed")
	}
	if _, err := open().ValueFile(t.Context(), proxy.URL+"/a.yaml", both); err == nil || !strings.Contains(err.Error(), "private address") {
		t.Errorf("a server on a private address was asked: %v", err)
	}
}
