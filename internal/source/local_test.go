// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/wavetrain/wavetrain/internal/source"
)

func TestOpenLocal(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "tree", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	write("outside", "secret")
	write("tree/a", "one")
	if err := os.Symlink("../outside", filepath.Join(dir, "tree", "link")); err != nil {
		t.Fatal(err)
	}
	tree, err := source.OpenLocal(filepath.Join(dir, "tree"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	}()
	if data, err := tree.ReadFile("a"); err != nil || string(data) != "one" {
		t.Errorf("a holds %q, %v", data, err)
	}
	if list, err := tree.ReadDir("."); err != nil || len(list) != 3 {
		t.Errorf("the directory holds %v, %v", list, err)
	}
	if info, err := tree.Stat("sub"); err != nil || !info.IsDir() {
		t.Errorf("sub: %v, %v", info, err)
	}
	if data, err := tree.ReadFile("link"); err == nil {
		t.Errorf("a link leads out of the directory to %q", data)
	}
	before, listing := tree.ObjectID("a"), tree.ObjectID(".")
	write("tree/a", "two")
	if before == "" || tree.ObjectID("a") == before || tree.ObjectID(".") != listing || tree.ObjectID("none") != "" {
		t.Error("ids of objects do not tell contents apart")
	}
	if _, err := source.OpenLocal(filepath.Join(dir, "none")); err == nil {
		t.Error("a directory that is not there was opened")
	}
}
