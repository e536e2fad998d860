// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What a worker may not do, tried by this test in a process of its own, since a
// confined process stays confined.
func TestAConfinedProcessReachesNothing(t *testing.T) {
	const child = "-test.run=TestAConfinedProcessReachesNothing/inside"
	if inside := len(os.Args) > 3 && os.Args[len(os.Args)-3] == "inside"; !inside {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		file := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(os.Args[0], child, "-test.v", "inside", file, listener.Addr().String()).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "reached nothing") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	t.Run("inside", func(t *testing.T) {
		secret, address := os.Args[len(os.Args)-2], os.Args[len(os.Args)-1]
		if err := confine(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.ReadFile(secret); err == nil {
			t.Error("it read a file")
		}
		if _, err := net.Dial("tcp", address); err == nil {
			t.Error("it connected")
		}
		if err := exec.Command("true").Run(); err == nil {
			t.Error("it started a process")
		}
		t.Log("reached nothing")
	})
}
