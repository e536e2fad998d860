// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package datadir_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/wavetrain/wavetrain/sandbox/internal/datadir"
)

// listen listens, and returns the port and what gives it back.
func listen(t *testing.T, dir *datadir.Dir, asked int) (int, func()) {
	t.Helper()
	listener, err := dir.Listen(asked)
	if err != nil {
		t.Fatal(err)
	}
	return listener.Addr().(*net.TCPAddr).Port, func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestListen(t *testing.T) {
	dir := open(t, t.TempDir())
	defer func() { _ = dir.Close() }()

	first, release := listen(t, dir, 0)
	release()
	again, release := listen(t, dir, 0)
	if again != first {
		t.Errorf("the second start has port %d, the first had %d", again, first)
	}

	// The port is still taken, as if by another program.
	other, releaseOther := listen(t, dir, 0)
	if other == first {
		t.Errorf("port %d is taken twice", other)
	}
	if _, err := dir.Listen(first); err == nil {
		t.Error("a port that was asked for and is taken must be an error")
	}
	release()
	releaseOther()
	next, release := listen(t, dir, 0)
	release()
	if next != other {
		t.Errorf("the next start has port %d, want the latest, %d", next, other)
	}
}

func TestRememberedPortIsChecked(t *testing.T) {
	for _, content := range []string{"", "x", "0", "70000", "-1"} {
		dir := open(t, t.TempDir())
		if err := os.WriteFile(filepath.Join(dir.Path(), "port"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if listener, err := dir.Listen(0); err == nil {
			t.Errorf("content %q: got %s, want an error", content, listener.Addr())
			_ = listener.Close()
		}
		if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
