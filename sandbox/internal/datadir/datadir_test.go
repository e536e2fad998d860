// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package datadir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/sandbox/internal/datadir"
)

func open(t *testing.T, path string) *datadir.Dir {
	t.Helper()
	dir, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTemporaryDirectoryIsRemoved(t *testing.T) {
	dir := open(t, "")
	if !dir.Temporary() {
		t.Error("a directory without a name is not temporary")
	}
	if _, err := os.Stat(dir.Path()); err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Close: %v, want it gone", err)
	}
}

func TestNamedDirectoryIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	dir := open(t, path)
	if dir.Temporary() {
		t.Error("a named directory is temporary")
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}

	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o700 {
		t.Errorf("mode %s, want only the owner to enter", mode)
	}
}

func TestSocketPathStaysShort(t *testing.T) {
	deep := filepath.Join(t.TempDir(), strings.Repeat("d", 120))
	dir := open(t, deep)
	socket := dir.EtcdSocket()
	if len(socket) >= 104 {
		t.Errorf("%s has %d characters, more than a socket's path may have", socket, len(socket))
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(socket)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of the socket is left behind: %v", err)
	}
}
