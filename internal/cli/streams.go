// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"os"
	"path/filepath"

	"golang.org/x/term"
)

// Streams is what a command talks to. Tests give their own.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Env looks an environment variable up; absent ones are "".
	Env func(string) string
	// Environ is the whole environment, for child processes.
	Environ []string
}

// SystemStreams are those of the process.
func SystemStreams() Streams {
	return Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv, Environ: os.Environ()}
}

// isTerminal tells whether w is a terminal on which lines may be redrawn.
func (s Streams) isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && s.Env("TERM") != "dumb"
}

// stateDir is where things that outlive a command are kept: the directory for
// state of the XDG Base Directory Specification, below it ours.
func (s Streams) stateDir() string {
	if dir := s.Env("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "wavetrain")
	}
	return filepath.Join(s.Env("HOME"), ".local", "state", "wavetrain")
}

// cacheDir is where things are kept that can be made again: by the XDG Base
// Directory Specification, or among temporary files where there is no home.
func (s Streams) cacheDir() string {
	if dir := s.Env("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "wavetrain")
	}
	if home := s.Env("HOME"); home != "" {
		return filepath.Join(home, ".cache", "wavetrain")
	}
	return filepath.Join(os.TempDir(), "wavetrain")
}
