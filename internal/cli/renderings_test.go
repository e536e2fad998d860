// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/wavetrain/wavetrain/internal/render"
)

// What two work trees have in common is rendered once; what a rendering has read and
// is different is not.
func TestRenderedOnceForTwoRevisions(t *testing.T) {
	files := map[string]string{
		"chart/Chart.yaml":       "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"chart/values.yaml":      "mode: one\n",
		"chart/templates/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {mode: {{ .Values.mode }}}\n",
		"plain/c.yaml":           "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n",
		"elsewhere.yaml":         "one",
	}
	shared := newRenderings()
	rendered := func(path string, change map[string]string) int {
		t.Helper()
		dir := t.TempDir()
		for _, content := range []map[string]string{files, {".wavetrain.yaml": ""}, change} {
			for name, text := range content {
				full := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		repo, err := openLocalRepo(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := shared.render(t.Context(), render.Source{Files: repo.files, Path: path}, render.Target{AppName: "shop", Namespace: "shop"}); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, list := range shared.of {
			n += len(list)
		}
		return n
	}
	for i, c := range []struct {
		reason, path string
		change       map[string]string
		want         int
	}{
		{"the first time", "chart", nil, 1},
		{"the same files elsewhere", "chart", nil, 1},
		{"a file that was not read", "chart", map[string]string{"elsewhere.yaml": "two"}, 1},
		{"a value file", "chart", map[string]string{"chart/values.yaml": "mode: two\n"}, 2},
		{"a template more", "chart", map[string]string{"chart/templates/d.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"}, 3},
		{"a directory", "plain", nil, 4},
		{"the same directory", "plain", map[string]string{"chart/values.yaml": "mode: two\n"}, 4},
		{"another file in it", "plain", map[string]string{"plain/d.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"}, 5},
	} {
		if got := rendered(c.path, c.change); got != c.want {
			t.Errorf("%d, %s: rendered %d times, want %d", i, c.reason, got, c.want)
		}
	}
}
