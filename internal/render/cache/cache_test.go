// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wavetrain/wavetrain/internal/render/cache"
	"github.com/wavetrain/wavetrain/internal/render/trace"
)

func open(t *testing.T, dir string, size int64) *cache.Cache {
	t.Helper()
	c, err := cache.Open(cache.Options{Dir: dir, MaxBytes: size})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// entry is a rendering that read one file with the given id.
func entry(id, set string) cache.Entry {
	return cache.Entry{
		Trace: trace.Trace{Reads: []trace.Read{{Path: "chart/values.yaml", ID: id}}},
		Set:   []byte(set), Count: 3, Digest: "sha256:" + id, Tool: "Helm", Remarks: []byte("[]"),
	}
}

// having is a repository in which that file has an id.
func having(id string) func(trace.Trace) bool {
	return func(t trace.Trace) bool { return t.Reads[0].ID == id }
}

func store(t *testing.T, c *cache.Cache, key string, e cache.Entry) {
	t.Helper()
	if err := c.Store(key, e); err != nil {
		t.Fatal(err)
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Dir(path) != dir {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestARenderingIsFoundByWhatItRead(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 0)
	want := entry("one", "objects of one")
	store(t, c, "key", want)
	store(t, c, "key", entry("two", "objects of two"))
	other := open(t, dir, 0)
	got, ok := other.Find("key", having("one"))
	if !ok {
		t.Fatal("another process does not find it")
	}
	if diff := cmp.Diff(want, *got, cmpopts.IgnoreUnexported(trace.Trace{}, trace.Read{}), cmpopts.IgnoreFields(cache.Entry{}, "PackedTrace")); diff != "" {
		t.Error(diff)
	}
	if _, ok := c.Find("key", having("three")); ok {
		t.Error("nothing was rendered from this content")
	}
	if _, ok := c.Find("other options", having("one")); ok {
		t.Error("other options are another key")
	}
}

func TestNothingLiesThereInClear(t *testing.T) {
	dir := t.TempDir()
	store(t, open(t, dir, 0), "key", entry("one", "password: hunter2"))
	for _, file := range files(t, dir) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte("hunter2")) || bytes.Contains(data, []byte("values.yaml")) {
			t.Errorf("%s can be read", file)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key is readable for others: %v %v", info, err)
	}
}

func TestADamagedEntryIsDropped(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"a flipped bit":  func(b []byte) []byte { b[len(b)-3] ^= 1; return b },
		"a bit in front": func(b []byte) []byte { b[20] ^= 1; return b },
		"half of it":     func(b []byte) []byte { return b[:len(b)/2] },
		"nothing":        func([]byte) []byte { return nil },
		"something else": func([]byte) []byte { return []byte("hello, this is not an entry at all") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c := open(t, dir, 0)
			store(t, c, "key", entry("one", "objects"))
			file := files(t, dir)[0]
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, damage(data), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, ok := c.Find("key", having("one")); ok {
				t.Error("it was taken for whole")
			}
			if left := files(t, dir); len(left) != 0 {
				t.Errorf("it was left: %v", left)
			}
			store(t, c, "key", entry("one", "objects"))
			if _, ok := c.Find("key", having("one")); !ok {
				t.Error("the new one is not found")
			}
		})
	}
}

func TestALostKeyCostsTheEntriesOnly(t *testing.T) {
	dir := t.TempDir()
	store(t, open(t, dir, 0), "key", entry("one", "objects"))
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := open(t, dir, 0)
	if _, ok := c.Find("key", having("one")); ok {
		t.Error("it was read with another key")
	}
	store(t, c, "key", entry("one", "objects"))
	if _, ok := open(t, dir, 0).Find("key", having("one")); !ok {
		t.Error("the new key is not kept")
	}
}

func TestTheOldestGoWhenThereIsTooMuch(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 100<<10)
	for i := range 200 {
		store(t, c, fmt.Sprint("key", i), entry("one", string(make([]byte, 1<<10))))
		// The newest by a clock that ticks for every entry.
		for _, file := range files(t, dir) {
			if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) < time.Hour {
				at := time.Now().Add(-time.Duration(300-i) * time.Hour)
				if err := os.Chtimes(file, at, at); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	var total int64
	for _, file := range files(t, dir) {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 180<<10 {
		t.Errorf("%d bytes are kept, 100 KiB are allowed between two checks", total)
	}
	if _, ok := c.Find("key199", having("one")); !ok {
		t.Error("the newest is gone")
	}
	if _, ok := c.Find("key0", having("one")); ok {
		t.Error("the oldest is still there")
	}
}

func TestOfOneSourceTheLastRenderingsAreKept(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 0)
	for i := range 20 {
		store(t, c, "key", entry(fmt.Sprint(i), "objects"))
	}
	if n := len(files(t, dir)); n != 8 {
		t.Errorf("%d are kept", n)
	}
}

func TestProcessesWriteSideBySide(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for p := range 4 {
		c := open(t, dir, 0)
		group.Go(func() {
			for i := range 30 {
				id := fmt.Sprint(i % 5)
				if err := c.Store("key", entry(id, "objects of "+id)); err != nil {
					t.Error(p, err)
				}
				if got, ok := c.Find("key", having(id)); ok && string(got.Set) != "objects of "+id {
					t.Errorf("half of an entry was read: %q", got.Set)
				}
			}
		})
	}
	group.Wait()
	if n := len(files(t, dir)); n != 5 {
		t.Errorf("%d entries for five contents", n)
	}
}
