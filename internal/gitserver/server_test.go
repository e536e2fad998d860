// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package gitserver_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/internal/gitserver"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
)

func clone(t *testing.T, url string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	cmd := exec.Command("git", "clone", "--quiet", url, dir)
	cmd.Env = append(gittest.Env(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, out)
	}
	return dir
}

func TestCloneOverHTTP(t *testing.T) {
	repo := gittest.New(t, map[string]string{"a/b.yaml": "kind: X\n"})
	dir := clone(t, repo.URL)
	got, err := os.ReadFile(filepath.Join(dir, "a/b.yaml"))
	if err != nil || string(got) != "kind: X\n" {
		t.Errorf("content %q, %v", got, err)
	}
}

func TestFolderOfAWorkTreeIsARepositoryOfItsOwn(t *testing.T) {
	repo := gittest.New(t, map[string]string{"README": "top", "examples/ask/x": "1"})
	mirror, err := gitserver.NewMirror(t.Context(), filepath.Join(repo.Dir, "examples/ask"), filepath.Join(t.TempDir(), "m.git"), gittest.Env())
	if err != nil {
		t.Fatal(err)
	}
	server, err := gitserver.Listen(mirror.GitDir, gittest.Env())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })

	first, err := mirror.Update(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := clone(t, server.URL)
	if _, err := os.Stat(filepath.Join(dir, "README")); err == nil {
		t.Error("a file outside of the folder is served")
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "x")); string(got) != "1" {
		t.Errorf("x = %q", got)
	}

	repo.Commit("outside", map[string]string{"README": "changed"})
	if same, err := mirror.Update(t.Context()); err != nil || same != first {
		t.Errorf("a commit outside of the folder moved the branch from %s to %s (%v)", first, same, err)
	}
	repo.Commit("inside", map[string]string{"examples/ask/x": "2"})
	second, err := mirror.Update(t.Context())
	if err != nil || second == first {
		t.Fatalf("a commit inside of the folder did not move the branch: %s, %v", second, err)
	}
	if got, _ := os.ReadFile(filepath.Join(clone(t, server.URL), "x")); string(got) != "2" {
		t.Errorf("x = %q after the second commit", got)
	}
}

func TestNewMirrorErrorsSayWhatToDo(t *testing.T) {
	empty := t.TempDir()
	cmd := exec.Command("git", "init", "--quiet", empty)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for name, c := range map[string]struct{ reason, dir, want string }{
		"not a repository": {"a plain folder cannot be served", t.TempDir(), "git init"},
		"nothing there":    {"a path that does not exist is named", filepath.Join(empty, "nope"), "not a directory"},
		"no commit":        {"only committed content is served", empty, "git commit"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := gitserver.NewMirror(t.Context(), c.dir, filepath.Join(t.TempDir(), "m.git"), gittest.Env())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q in it", c.reason, err, c.want)
			}
		})
	}
}
