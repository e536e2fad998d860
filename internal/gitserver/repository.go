// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package gitserver

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Repository is a Git repository whose commits are made from directories.
type Repository struct {
	dir string
	env []string
}

// NewRepository makes an empty repository in dir, which must not exist. env is the
// environment of git.
func NewRepository(ctx context.Context, dir string, env []string) (*Repository, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make Git repository: %w", err)
	}
	r := &Repository{dir: dir, env: append(slices.Clone(env),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "LC_ALL=C",
		"GIT_AUTHOR_NAME=rehearsal", "GIT_AUTHOR_EMAIL=rehearsal@localhost", "GIT_COMMITTER_NAME=rehearsal", "GIT_COMMITTER_EMAIL=rehearsal@localhost")}
	_, err := r.git(ctx, "init", "--quiet", "--initial-branch=main", ".")
	return r, err
}

// GitDir is the directory to serve.
func (r *Repository) GitDir() string { return filepath.Join(r.dir, ".git") }

// Commit makes the files the content of a branch and returns the commit. The
// branch is made when it is not there.
func (r *Repository) Commit(ctx context.Context, branch string, files fs.FS) (string, error) {
	if branch != "main" {
		if _, err := r.git(ctx, "checkout", "--quiet", "-B", branch); err != nil {
			return "", err
		}
		defer func() { _, _ = r.git(ctx, "checkout", "--quiet", "--force", "main") }()
	}
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if e.Name() == ".git" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(r.dir, e.Name())); err != nil {
			return "", err
		}
	}
	if err := os.CopyFS(r.dir, files); err != nil {
		return "", fmt.Errorf("copy the files of a commit: %w", err)
	}
	if _, err := r.git(ctx, "add", "--all", "--force", "."); err != nil {
		return "", err
	}
	if _, err := r.git(ctx, "commit", "--quiet", "--allow-empty", "--no-verify", "--no-gpg-sign", "--message="+branch); err != nil {
		return "", err
	}
	return r.git(ctx, "rev-parse", "HEAD")
}

func (r *Repository) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	var out, fault bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &fault
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(fault.String()))
	}
	return strings.TrimSpace(out.String()), nil
}
