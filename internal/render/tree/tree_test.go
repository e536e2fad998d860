// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package tree_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wavetrain/wavetrain/internal/render/tree"
)

func TestResolve(t *testing.T) {
	cases := map[string]struct {
		reason    string
		dir, name string
		want      string
		refused   bool
	}{
		"Relative": {reason: "Relative to the directory.", dir: "charts/a", name: "values.yaml", want: "charts/a/values.yaml"},
		"Absolute": {reason: "A slash means the repository's root.", dir: "charts/a", name: "/env/dev.yaml", want: "env/dev.yaml"},
		"Up":       {reason: "Up is fine inside the repository.", dir: "charts/a", name: "../../env/dev.yaml", want: "env/dev.yaml"},
		"Out":      {reason: "Out is not.", dir: "charts/a", name: "../../../etc/passwd", refused: true},
		"RootOut":  {reason: "Not from the root either.", dir: "charts/a", name: "/../etc/passwd", refused: true},
		"Root":     {reason: "The root itself.", dir: "charts", name: "..", want: "."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := tree.Resolve(tc.dir, tc.name)
			if (err != nil) != tc.refused || got != tc.want {
				t.Errorf("%s\nwant %q (refused: %t), got %q, %v", tc.reason, tc.want, tc.refused, got, err)
			}
		})
	}
}

func TestResolveStaysInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"..", ".", "a", "b", ""})
		dir := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 3).Draw(t, "dir"), "/")
		name := strings.Join(rapid.SliceOfN(part, 1, 8).Draw(t, "name"), "/")
		got, err := tree.Resolve(dir, name)
		if err == nil && name != "" && !fs.ValidPath(got) && got != "" {
			t.Fatalf("%q in %q became %q, which is no path of a tree", name, dir, got)
		}
	})
}

// repository makes a directory with links, read as a tree that cannot be left.
func repository(t *testing.T, links map[string]string) fs.FS {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sub", "a.yaml"), []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root.FS()
}

func walked(t *testing.T, files fs.FS) ([]string, error) {
	t.Helper()
	var found []string
	err := tree.Walk(files, ".", nil, func(f tree.File) error {
		found = append(found, f.Rel)
		return nil
	})
	return found, err
}

func TestWalkFollowsLinksInside(t *testing.T) {
	found, err := walked(t, repository(t, map[string]string{"copy": "sub", "one.yaml": "sub/a.yaml"}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"copy/a.yaml", "one.yaml", "sub/a.yaml"}, found); diff != "" {
		t.Error(diff)
	}
}

func TestWalkRefusesLinks(t *testing.T) {
	for name, target := range map[string]string{"to the machine": "/etc/passwd", "out of the tree": "../..", "to nothing": "nowhere"} {
		_, err := walked(t, repository(t, map[string]string{"link": target}))
		if err == nil || !strings.Contains(err.Error(), "link: the link leads nowhere inside the repository") {
			t.Errorf("a link %s: got %v", name, err)
		}
	}
	for name, links := range map[string]map[string]string{
		"a loop": {"sub/loop": ".."}, "loops that multiply": {"sub/one": "..", "sub/two": "..", "sub/three": ".."},
	} {
		if _, err := walked(t, repository(t, links)); err == nil {
			t.Errorf("%s of links must end, got %v", name, err)
		}
	}
}

func TestBudget(t *testing.T) {
	files := fstest.MapFS{"a": {Data: make([]byte, 600)}, "b": {Data: make([]byte, 600)}, "d/c": {}}
	b := tree.Budget{Limit: 1000}
	if _, err := b.Read(files, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Read(files, "b"); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("the second file exceeds the budget, got %v", err)
	}
	if _, err := b.Read(files, "d"); err == nil {
		t.Error("a directory cannot be read")
	}
	if _, err := b.Read(files, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("want %v, got %v", fs.ErrNotExist, err)
	}
}
