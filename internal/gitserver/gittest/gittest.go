// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package gittest makes Git repositories for tests and serves them over HTTP.
package gittest

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/internal/gitserver"
)

// Env is the environment in which tests run git.
func Env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}
}

// Repository is a work tree that is served over HTTP.
type Repository struct {
	// Dir is the work tree, URL where it is served.
	Dir, URL string

	t      testing.TB
	mirror *gitserver.Mirror
	server *gitserver.Server
}

// New makes a repository whose first commit holds files (path → content; a
// content "-> target" makes a symbolic link) and serves it until the test ends.
func New(t testing.TB, files map[string]string) *Repository {
	t.Helper()
	r := &Repository{Dir: t.TempDir(), t: t}
	r.Git("init", "--quiet", "--initial-branch=main")
	r.Commit("first", files)
	mirror, err := gitserver.NewMirror(t.Context(), r.Dir, filepath.Join(t.TempDir(), "mirror.git"), Env())
	if err != nil {
		t.Fatal(err)
	}
	server, err := gitserver.Listen(mirror.GitDir, Env())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Vanish() })
	r.mirror, r.server, r.URL = mirror, server, server.URL
	return r
}

// Handler serves the repository below /repo.git, for servers that ask for a login
// or misbehave.
func (r *Repository) Handler() http.Handler { return r.server.Handler() }

// Vanish stops serving the repository.
func (r *Repository) Vanish() {
	if err := r.server.Close(); err != nil {
		r.t.Errorf("stop Git server: %v", err)
	}
}

// Commit writes files, deletes those whose content is "-", commits, and returns
// the commit id. The served repository follows at once.
func (r *Repository) Commit(message string, files map[string]string) string {
	r.t.Helper()
	for name, content := range files {
		full := filepath.Join(r.Dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.RemoveAll(full); err != nil {
			r.t.Fatal(err)
		}
		var err error
		switch target, link := strings.CutPrefix(content, "-> "); {
		case content == "-":
		case link:
			err = os.Symlink(target, full)
		default:
			err = os.WriteFile(full, []byte(content), 0o600)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	r.Git("add", "--all")
	r.Git("commit", "--quiet", "--allow-empty", "--message", message)
	if r.mirror != nil {
		r.Update()
	}
	return r.Git("rev-parse", "HEAD")
}

// Update serves what was committed by other means than Commit.
func (r *Repository) Update() {
	r.t.Helper()
	if _, err := r.mirror.Update(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// Tag puts an annotated tag on the last commit and serves it.
func (r *Repository) Tag(name string) {
	r.t.Helper()
	r.Git("tag", "--message", name, name)
	r.Git("push", "--quiet", r.mirror.GitDir, "refs/tags/"+name)
}

// Git runs git in the work tree and returns what it prints.
func (r *Repository) Git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=Test", "-c", "user.email=test@example.test", "-C", r.Dir}, args...)...)
	cmd.Env = append(Env(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}
