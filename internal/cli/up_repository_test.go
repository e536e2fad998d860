// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
)

func TestBootstrap(t *testing.T) {
	app := func(name string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + "}\n"
	}
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
	for name, c := range map[string]struct {
		reason string
		files  map[string]string
		want   []string
	}{
		"listed": {
			"what is listed counts, files and folders, and nothing else",
			map[string]string{".wavetrain.yaml": "bootstrap: [root.yaml, more]\n", "root.yaml": app("root"), "more/b.yaml": app("b"), "more/a.yml": configMap, "other.yaml": app("other"), "bootstrap/x.yaml": app("x")},
			[]string{"Application/root", "ConfigMap/settings", "Application/b"},
		},
		"folder": {
			"without a list, all manifests of bootstrap/",
			map[string]string{"bootstrap/b.yaml": app("b"), "bootstrap/a.json": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, "bootstrap/README.md": "no manifest", "other.yaml": app("other")},
			[]string{"ConfigMap/a", "Application/b"},
		},
		"directory": {
			"without that, the Applications in the directory",
			map[string]string{"apps.yaml": app("one") + "---\n" + app("two"), "settings.yaml": configMap, "deeper/three.yaml": app("three")},
			[]string{"Application/one", "Application/two"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			repo := gittest.New(t, c.files)
			repo.Git("remote", "add", "origin", "https://git.example.com/acme/shop.git")
			r, err := openRepository(t.Context(), repo.Dir, t.TempDir(), gittest.Env())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = r.server.Close() })
			objects, err := r.bootstrap()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, obj := range objects {
				got = append(got, obj.Key().Short())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestWhatADirectoryStandsFor(t *testing.T) {
	repo := gittest.New(t, map[string]string{
		"README": "top", "deploy/app.yaml": "x",
		"own/.wavetrain.yaml": "repository: https://git.example.com/acme/own.git\n",
	})
	repo.Git("remote", "add", "origin", "git@git.example.com:acme/all.git")
	for name, c := range map[string]struct {
		reason, dir string
		serves, not string
		// top is a file that is served only with the whole work tree.
		top bool
	}{
		"remote": {"without a name of its own, a folder stands for the whole work tree", "deploy", "https://git.example.com/acme/all", "https://git.example.com/acme/own", true},
		"own":    {"with one, it is a repository by itself", "own", "ssh://git@git.example.com/acme/own", "https://git.example.com/acme/all", false},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := openRepository(t.Context(), filepath.Join(repo.Dir, c.dir), t.TempDir(), gittest.Env())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = r.server.Close() })
			if !r.serves(c.serves) || r.serves(c.not) {
				t.Errorf("%s: it serves %q", c.reason, r.urls)
			}
			if whole := r.commit == repo.Git("rev-parse", "HEAD"); whole != c.top {
				t.Errorf("%s: the work tree's own commit is served: %t, want %t", c.reason, whole, c.top)
			}
		})
	}
}
