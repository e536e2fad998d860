// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/internal/rehearse"
)

// TestLayOut lays two revisions of a folder of a larger repository out.
func TestLayOut(t *testing.T) {
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	top := t.TempDir()
	dir := filepath.Join(top, "deploy")
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		cmd.Dir = top
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	write(".wavetrain.yaml", "repository: https://git.example.com/deploy.git\nbootstrap: [root.yaml]\n")
	write("root.yaml", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: root}\nspec: {source: {repoURL: https://git.example.com/other.git, path: .}}\n")
	write("app/a.yaml", "one")
	git("init", "-q")
	git("add", "-A")
	git("commit", "-q", "-m", "one")
	write("app/a.yaml", "two")
	git("commit", "-q", "-a", "-m", "two")
	write("app/a.yaml", "three")

	s := Streams{Environ: os.Environ()}
	laidOut, urls, err := layOut(t.Context(), s, dir, "HEAD~1", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(laidOut) })
	for rev, want := range map[string]string{"rev1": "one", "rev2": "two"} {
		if got, err := os.ReadFile(filepath.Join(laidOut, rev, "app", "a.yaml")); err != nil || string(got) != want {
			t.Errorf("%s holds %q (%v), want %q", rev, got, err, want)
		}
	}
	if urls, err = repositoriesOf(laidOut, urls); err != nil || strings.Join(urls, " ") != "https://git.example.com/deploy.git https://git.example.com/other.git" {
		t.Errorf("the repository stands for %q (%v)", urls, err)
	}
	c, err := rehearse.Load(laidOut, "")
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, step := range c.Steps {
		steps = append(steps, step.String())
	}
	if got, want := strings.Join(steps, "; "), "commit rev1; app app.yaml; wait settled; commit rev2; wait settled"; got != want {
		t.Errorf("steps are %q, want %q", got, want)
	}
	left := func() int {
		dirs, err := filepath.Glob(filepath.Join(scratch, "wavetrain-rehearse-*", "tree-*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(dirs)
	}
	before := left()
	for _, revision := range []string{"nothing", "HEAD~5"} {
		if _, _, err := layOut(t.Context(), s, dir, revision, "HEAD"); err == nil || !strings.Contains(err.Error(), revision) {
			t.Errorf("revision %s: error %v does not name it", revision, err)
		}
	}
	if after := left(); after > before {
		t.Errorf("%d directories are left behind", after-before)
	}
}
