// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

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

// segments are the files that renderings lie in, in the order they were begun.
func segments(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "segments", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func size(t *testing.T, dir string) int64 {
	t.Helper()
	var total int64
	for _, file := range segments(t, dir) {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	return total
}

func change(t *testing.T, file string, how func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, how(data), 0o600); err != nil {
		t.Fatal(err)
	}
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
	for _, file := range segments(t, dir) {
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
		"a flipped bit":           func(b []byte) []byte { b[len(b)-3] ^= 1; return b },
		"a bit in front":          func(b []byte) []byte { b[20] ^= 1; return b },
		"a bit of the header":     func(b []byte) []byte { b[30] ^= 1; return b },
		"a bit of the first part": func(b []byte) []byte { b[24+48+20] ^= 1; return b },
		"half of it":              func(b []byte) []byte { return b[:len(b)/2] },
		"nothing":                 func([]byte) []byte { return nil },
		"something else":          func([]byte) []byte { return []byte("hello, this is not a segment at all") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writer := open(t, dir, 0)
			store(t, writer, "key", entry("one", "objects"))
			change(t, segments(t, dir)[0], damage)
			c := open(t, dir, 0)
			if _, ok := c.Find("key", having("one")); ok {
				t.Error("it was taken for whole")
			}
			if _, ok := writer.Find("key", having("one")); ok && name != "a bit in front" && name != "a bit of the header" {
				t.Error("who has written it takes it for whole")
			}
			store(t, c, "key", entry("one", "objects"))
			if _, ok := c.Find("key", having("one")); !ok {
				t.Error("the new one is not found")
			}
			if _, ok := open(t, dir, 0).Find("key", having("one")); !ok {
				t.Error("another process does not find the new one")
			}
		})
	}
}

// Killed in the middle of writing, a process leaves half of a rendering. What it
// has written before is whole, and nobody writes behind the half.
func TestATornTailIsPassedOver(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, 0)
	store(t, first, "one", entry("one", "objects of one"))
	whole := size(t, dir)
	store(t, first, "two", entry("two", "objects of two"))
	for cut := whole + 1; cut < size(t, dir); cut += 7 {
		at := t.TempDir()
		if err := os.CopyFS(at, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		change(t, segments(t, at)[0], func(b []byte) []byte { return b[:cut] })
		c := open(t, at, 0)
		if got, ok := c.Find("one", having("one")); !ok || string(got.Set) != "objects of one" {
			t.Fatalf("cut at %d: the whole one is lost", cut)
		}
		if _, ok := c.Find("two", having("two")); ok {
			t.Fatalf("cut at %d: half of an entry was read", cut)
		}
		store(t, c, "two", entry("two", "objects of two"))
		if got, ok := open(t, at, 0).Find("two", having("two")); !ok || string(got.Set) != "objects of two" {
			t.Fatalf("cut at %d: what was rendered again is not found", cut)
		}
	}
}

func TestWhatIsWantedIsSavedFromSegmentsThatGo(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 100<<10)
	store(t, c, "steady", entry("one", "objects"))
	for i := range 400 {
		store(t, c, fmt.Sprint("key", i), entry("one", string(make([]byte, 1<<10))))
		if _, ok := c.Find("steady", having("one")); !ok {
			t.Fatalf("after %d others, what is wanted all the time is gone", i)
		}
	}
	if _, ok := open(t, dir, 100<<10).Find("steady", having("one")); !ok {
		t.Error("another process does not find it")
	}
}

func TestManyShortLivesDoNotPileUp(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		store(t, open(t, dir, 0), fmt.Sprint("key", i), entry("one", "objects"))
	}
	if n := len(segments(t, dir)); n > 260 {
		t.Errorf("%d files after 300 processes", n)
	}
	c := open(t, dir, 0)
	for i := range 300 {
		if _, ok := c.Find(fmt.Sprint("key", i), having("one")); !ok {
			t.Fatalf("the rendering of process %d is lost", i)
		}
	}
}

func TestARemovedDirectoryIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 64<<10)
	store(t, c, "key", entry("one", "objects"))
	if err := os.RemoveAll(filepath.Join(dir, "segments")); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Find("key", having("one")); ok {
		t.Error("it was found in a file that is gone")
	}
	// A full segment is followed by another.
	for i := range 20 {
		store(t, c, fmt.Sprint("key", i), entry("one", string(make([]byte, 1<<10))))
	}
	if _, ok := open(t, dir, 64<<10).Find("key19", having("one")); !ok {
		t.Error("nothing is kept any more")
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
	for p := range 4 {
		c := open(t, dir, 100<<10)
		for i := range 50 {
			store(t, c, fmt.Sprint("key", 50*p+i), entry("one", string(make([]byte, 1<<10))))
		}
	}
	if total := size(t, dir); total > 120<<10 {
		t.Errorf("%d bytes are kept, 100 KiB are allowed between two checks", total)
	}
	c := open(t, dir, 100<<10)
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
	for _, c := range []*cache.Cache{c, open(t, dir, 0)} {
		for i := range 20 {
			if _, ok := c.Find("key", having(fmt.Sprint(i))); ok != (i >= 12) {
				t.Errorf("rendering %d of 20 is kept: %v", i, ok)
			}
		}
	}
}

func TestProcessesWriteSideBySide(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for p := range 4 {
		c := open(t, dir, 20<<10)
		group.Go(func() {
			for i := range 60 {
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
	c := open(t, dir, 20<<10)
	for i := range 5 {
		if _, ok := c.Find("key", having(fmt.Sprint(i))); !ok {
			t.Errorf("content %d is not found", i)
		}
	}
}
