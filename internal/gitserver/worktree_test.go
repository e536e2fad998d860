// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package gitserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/internal/gitserver"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
)

func TestFindWorkTree(t *testing.T) {
	repo := gittest.New(t, map[string]string{"apps/a.yaml": "a"})
	top, err := filepath.EvalSymlinks(repo.Dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := gitserver.FindWorkTree(t.Context(), filepath.Join(repo.Dir, "apps"), gittest.Env())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(gitserver.WorkTree{Top: top}, got); diff != "" {
		t.Errorf("without remotes (-want +got):\n%s", diff)
	}

	repo.Git("remote", "add", "origin", "https://git.example.com/shop.git")
	repo.Git("remote", "add", "fork", "git@git.example.com:fork/shop.git")
	repo.Git("remote", "add", "again", "https://git.example.com/shop.git")
	got, err = gitserver.FindWorkTree(t.Context(), repo.Dir, gittest.Env())
	if err != nil {
		t.Fatal(err)
	}
	want := gitserver.WorkTree{Top: top, Remotes: []string{"git@git.example.com:fork/shop.git", "https://git.example.com/shop.git"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("with remotes (-want +got):\n%s", diff)
	}
}

func TestFindWorkTreeSaysWhatToDo(t *testing.T) {
	plain := t.TempDir()
	if err := os.WriteFile(filepath.Join(plain, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ dir, hint string }{
		"no work tree": {plain, "git init"},
		"a file":       {filepath.Join(plain, "file"), "is not a directory"},
		"missing":      {filepath.Join(plain, "missing"), "is not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := gitserver.FindWorkTree(t.Context(), c.dir, gittest.Env())
			if err == nil || !strings.Contains(err.Error(), c.hint) || !strings.Contains(err.Error(), c.dir) {
				t.Errorf("got error %v, want one with %q and the directory", err, c.hint)
			}
		})
	}
}
