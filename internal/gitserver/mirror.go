// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package gitserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Branch is the branch under which the directory's committed content is
// served; HEAD points to it.
const Branch = "main"

// Mirror is a bare repository that follows the committed content of a
// directory, which may be a whole work tree or a folder of one.
type Mirror struct {
	// Dir is the directory followed.
	Dir string
	// GitDir is the bare repository.
	GitDir string

	env    []string
	prefix string

	mu     sync.Mutex
	source string
	commit string
}

// NewMirror makes a bare repository in gitDir that follows dir. env is the
// environment for git. The error says what to do when dir is not in a work tree
// or nothing of it is committed.
func NewMirror(ctx context.Context, dir, gitDir string, env []string) (*Mirror, error) {
	m, err := newMirror(ctx, dir, gitDir, env)
	if err != nil {
		return nil, err
	}
	objects, err := m.inDir(ctx, "rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return nil, err
	}
	if err := m.initialise(ctx, objects); err != nil {
		return nil, err
	}
	if _, err := m.Update(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

// newMirror finds the work tree that dir lies in.
func newMirror(ctx context.Context, dir, gitDir string, env []string) (*Mirror, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if stat, err := os.Stat(abs); err != nil || !stat.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", dir)
	}
	m := &Mirror{Dir: abs, GitDir: gitDir, env: append(slices.Clone(env),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")}
	prefix, err := m.inDir(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, fmt.Errorf("%s is not in a Git work tree: run `git init && git add . && git commit` there", dir)
	}
	m.prefix = strings.TrimSuffix(prefix, "/")
	return m, nil
}

// initialise makes the bare repository, which borrows the objects of the work
// tree instead of copying them.
func (m *Mirror) initialise(ctx context.Context, objects string) error {
	if _, err := m.run(ctx, "", nil, "init", "--quiet", "--bare", "--initial-branch="+Branch, m.GitDir); err != nil {
		return err
	}
	alternates := filepath.Join(m.GitDir, "objects", "info", "alternates")
	return os.WriteFile(alternates, []byte(objects+"\n"), 0o600)
}

// Update looks whether the directory's committed content has changed and, if so,
// moves the branch. It returns the commit now served.
func (m *Mirror) Update(ctx context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	head, err := m.inDir(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return "", fmt.Errorf("nothing is committed in %s yet: run `git add . && git commit`", m.Dir)
	}
	if head == m.source {
		return m.commit, nil
	}
	commit, err := m.commitFor(ctx, head)
	if err != nil {
		return "", err
	}
	if _, err := m.inMirror(ctx, nil, "update-ref", "refs/heads/"+Branch, commit); err != nil {
		return "", err
	}
	m.source, m.commit = head, commit
	return commit, nil
}

// commitFor returns the commit to serve for the work tree's head: that commit
// itself for a whole work tree, or one whose tree is the folder. An unchanged
// folder keeps its commit.
func (m *Mirror) commitFor(ctx context.Context, head string) (string, error) {
	if m.prefix == "" {
		return head, nil
	}
	tree, err := m.inDir(ctx, "rev-parse", "--verify", "--quiet", head+":"+m.prefix)
	if err != nil {
		return "", fmt.Errorf("nothing of %s is committed yet: run `git add . && git commit` there", m.Dir)
	}
	args := []string{"commit-tree", tree}
	if m.commit != "" {
		before, err := m.inMirror(ctx, nil, "rev-parse", m.commit+"^{tree}")
		if err != nil {
			return "", err
		}
		if before == tree {
			return m.commit, nil
		}
		args = append(args, "-p", m.commit)
	}
	described, err := m.inDir(ctx, "show", "--no-patch", "--format=%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B", head)
	if err != nil {
		return "", err
	}
	fields := strings.SplitN(described, "\x00", 7)
	if len(fields) != 7 {
		return "", fmt.Errorf("describe commit %s: unexpected answer of git", head)
	}
	var env []string
	for i, name := range []string{"AUTHOR_NAME", "AUTHOR_EMAIL", "AUTHOR_DATE", "COMMITTER_NAME", "COMMITTER_EMAIL", "COMMITTER_DATE"} {
		env = append(env, "GIT_"+name+"="+fields[i])
	}
	return m.run(ctx, fields[6], env, append([]string{"--git-dir", m.GitDir}, args...)...)
}

func (m *Mirror) inDir(ctx context.Context, args ...string) (string, error) {
	return m.run(ctx, "", nil, append([]string{"-c", "safe.directory=*", "-C", m.Dir}, args...)...)
}

func (m *Mirror) inMirror(ctx context.Context, env []string, args ...string) (string, error) {
	return m.run(ctx, "", env, append([]string{"--git-dir", m.GitDir}, args...)...)
}

func (m *Mirror) run(ctx context.Context, stdin string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env = append(slices.Clone(m.env), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if said := strings.TrimSpace(stderr.String()); said != "" {
			return "", errors.New(said)
		}
		return "", fmt.Errorf("git %s: %w", args[len(args)-1], err)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
