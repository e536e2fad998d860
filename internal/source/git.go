// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// maxOutput bounds what a git command may print: the refs of a repository are a
// few megabytes when there are a hundred thousand.
const maxOutput = 256 << 20

// git runs the git binary with a fixed, hardened configuration.
type git struct {
	binary string
	env    []string
	config []string
}

// commandError is what a git command that failed has said.
type commandError struct {
	said string
	err  error
}

func (e *commandError) Error() string {
	if words := lastWords(e.said); words != "" {
		return words
	}
	return e.err.Error()
}

func (e *commandError) Unwrap() error { return e.err }

func newGit(opts Options) git {
	fileProtocol := "never"
	if opts.AllowFile {
		fileProtocol = "always"
	}
	env := append(slices.Clone(opts.Env),
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=true",
		"SSH_ASKPASS=true",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_SSH_COMMAND=ssh -o BatchMode=yes -o ConnectTimeout=10",
		"LC_ALL=C",
	)
	return git{
		binary: "git",
		env:    env,
		config: []string{
			"-c", "core.hooksPath=/dev/null",
			"-c", "core.fsmonitor=false",
			"-c", "protocol.file.allow=" + fileProtocol,
			"-c", "protocol.ext.allow=never",
			"-c", "fetch.recurseSubmodules=false",
			"-c", "gc.auto=0",
			"-c", "maintenance.auto=false",
			"-c", "http.lowSpeedLimit=1000",
			"-c", "http.lowSpeedTime=30",
			"-c", "safe.directory=*",
		},
	}
}

// command builds a git command; dir is the mirror or empty.
func (g git) command(ctx context.Context, a *access, dir string, args ...string) *exec.Cmd {
	full := slices.Clone(g.config)
	if dir != "" {
		full = append(full, "--git-dir", dir)
	}
	cmd := exec.CommandContext(ctx, g.binary, append(full, args...)...)
	cmd.Env = append(slices.Clone(g.env), a.environment()...)
	// git has children, the transport among them, that outlive it and keep its
	// output open.
	killWithChildren(cmd)
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// run returns what the command printed.
func (g git) run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	return g.runAs(ctx, nil, dir, args...)
}

// runAs is run with access to a remote.
func (g git) runAs(ctx context.Context, a *access, dir string, args ...string) ([]byte, error) {
	return g.runCommand(ctx, a, g.command(ctx, a, dir, args...))
}

func (g git) runCommand(ctx context.Context, a *access, cmd *exec.Cmd) ([]byte, error) {
	stdout, stderr := boundedBuffer{limit: maxOutput}, boundedBuffer{limit: 64 << 10, drop: true}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err == nil {
		return stdout.Bytes(), nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if stdout.full {
		return nil, fmt.Errorf("the answer is larger than %d MiB", maxOutput>>20)
	}
	return nil, &commandError{said: strings.TrimSpace(a.censor(stderr.String())), err: err}
}

// boundedBuffer refuses to grow beyond its limit, or drops what is more.
type boundedBuffer struct {
	bytes.Buffer
	limit int
	drop  bool
	full  bool
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) <= b.limit {
		return b.Buffer.Write(p)
	}
	b.full = true
	if b.drop {
		return len(p), nil
	}
	return 0, fmt.Errorf("more than %d bytes", b.limit)
}
