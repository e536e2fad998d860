// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// git runs the git binary with a fixed, hardened configuration.
type git struct {
	binary string
	env    []string
	config []string
}

// Error is a failed git command in a form fit for an Application's condition:
// what was tried, and what git said in one line.
type Error struct {
	// Op is what was tried, for example "fetch".
	Op string
	// URL of the repository, without credentials.
	URL string
	// Detail is git's own last words.
	Detail string
	Err    error
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s %s: %s", e.Op, e.URL, e.Detail)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

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
			"-c", "http.lowSpeedLimit=1000",
			"-c", "http.lowSpeedTime=30",
			"-c", "safe.directory=*",
		},
	}
}

// command builds a git command; dir is the mirror or empty.
func (g git) command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	full := slices.Clone(g.config)
	if dir != "" {
		full = append(full, "--git-dir", dir)
	}
	cmd := exec.CommandContext(ctx, g.binary, append(full, args...)...)
	cmd.Env = g.env
	return cmd
}

// run returns what the command printed. The error carries git's last line on
// standard error.
func (g git) run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := g.command(ctx, dir, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err == nil {
		return stdout.Bytes(), nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if detail := lastWords(stderr.String()); detail != "" {
		return nil, errors.New(detail)
	}
	return nil, err
}

// lastWords picks the line of git's standard error that says what is wrong:
// the last one marked fatal or error, else the last.
func lastWords(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	for _, line := range slices.Backward(lines) {
		for _, mark := range []string{"fatal: ", "error: ", "remote: "} {
			if rest, ok := strings.CutPrefix(line, mark); ok {
				return rest
			}
		}
	}
	return lines[len(lines)-1]
}
