// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package cache keeps renderings on disk, found by what they depend on: first by
// the options of the source, then by comparing what a rendering has read and asked
// with what it would read and be answered now. Applications and processes share
// it, it may be lost at any time, and a damaged entry is dropped.
//
// Rendered sets contain Secrets, so everything is encrypted with a key that each
// installation makes for itself. The key lies beside the entries, readable for the
// owner only: that keeps values out of copies, backups and searches of the
// directory, not from somebody who is the owner.
package cache

import (
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/wavetrain/wavetrain/internal/render/packed"
	"github.com/wavetrain/wavetrain/internal/render/trace"
)

// Entry is a rendering.
type Entry struct {
	Trace trace.Trace
	// Set holds the objects as package packed writes them.
	Set    []byte
	Count  int
	Digest string
	Tool   string
	// Remarks is what else is known of it, in the form of whoever stores it.
	Remarks []byte
}

// Options of a Cache.
type Options struct {
	// Dir holds the entries. Required.
	Dir string
	// MaxBytes bounds the directory. Defaults to 1 GiB.
	MaxBytes int64
}

// Bounds besides the size.
const (
	// maxPerKey is how many renderings of one source with the same options are
	// kept: those of the last commits.
	maxPerKey = 8
	// sweepEvery is after how many new entries the size is checked.
	sweepEvery = 64
	// touchAfter is how old an entry's time of use may be.
	touchAfter = time.Hour
)

// Cache is a directory of renderings.
type Cache struct {
	opts Options
	seal cipher.AEAD
	// generation stands for the program: another version may render otherwise.
	generation string
	codec      *packed.Codec
	stored     atomic.Int64
}

// Open opens the cache and makes it if it is missing.
func Open(opts Options) (*Cache, error) {
	if opts.MaxBytes == 0 {
		opts.MaxBytes = 1 << 30
	}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make directory of renderings: %w", err)
	}
	key, err := installationKey(filepath.Join(opts.Dir, "key"))
	if err != nil {
		return nil, fmt.Errorf("key of the directory of renderings: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	codec, err := packed.NewCodec()
	if err != nil {
		return nil, err
	}
	return &Cache{opts: opts, seal: seal, generation: generation(), codec: codec}, nil
}

// generation identifies this program, so that its next version renders anew.
func generation() string {
	self, err := os.Executable()
	if err != nil {
		return "unknown"
	}
	info, err := os.Stat(self)
	if err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
}

const keySize = 32

// installationKey reads the key, or makes it. Of two processes that make one, the
// first wins.
func installationKey(file string) ([]byte, error) {
	for range 2 {
		if key, err := os.ReadFile(file); err == nil && len(key) == keySize {
			return key, nil
		} else if err == nil {
			// What it had encrypted is lost, which is what a cache may be.
			if err := os.Remove(file); err != nil {
				return nil, err
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		key := make([]byte, keySize)
		if _, err := rand.Read(key); err != nil {
			return nil, err
		}
		if err := publish(file, key, os.Link); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return os.ReadFile(file)
}

// publish writes a file whole or not at all; how puts it in its place.
func publish(file string, data []byte, how func(from, to string) error) error {
	temp, err := os.CreateTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = how(temp.Name(), file)
	}
	if errRemove := os.Remove(temp.Name()); errRemove != nil && !errors.Is(errRemove, fs.ErrNotExist) {
		return errors.Join(err, errRemove)
	}
	return err
}

// directory of the renderings of one source with the same options.
func (c *Cache) directory(key string) string {
	sum := sha256.Sum256([]byte(c.generation + "\x00" + key))
	name := hex.EncodeToString(sum[:])
	return filepath.Join(c.opts.Dir, name[:2], name)
}

// Find returns the rendering under a key whose trace holds.
func (c *Cache) Find(key string, holds func(trace.Trace) bool) (*Entry, bool) {
	dir := c.directory(key)
	for _, found := range entries(dir) {
		file := filepath.Join(dir, found.Name())
		entry, err := c.read(file, holds)
		if err != nil {
			// Damaged, or written with a key that is gone.
			_ = os.Remove(file) // another process may have been faster
			continue
		}
		if entry == nil {
			continue
		}
		if now := time.Now(); now.Sub(found.ModTime()) > touchAfter {
			_ = os.Chtimes(file, now, now) // it only makes the entry look older than it is
		}
		return entry, true
	}
	return nil, false
}

// entries lists the files of a directory, the newest first.
func entries(dir string) []fs.FileInfo {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var found []fs.FileInfo
	for _, e := range list {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && e.Name()[0] != '.' {
			found = append(found, info)
		}
	}
	slices.SortFunc(found, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	return found
}

// head is what is read of an entry to see whether it is the one.
type head struct {
	_       struct{} `cbor:",toarray"`
	Trace   trace.Trace
	Count   int
	Digest  string
	Tool    string
	Remarks []byte
}

// Store keeps a rendering.
func (c *Cache) Store(key string, e Entry) error {
	plain, err := c.codec.Marshal(head{Trace: e.Trace, Count: e.Count, Digest: e.Digest, Tool: e.Tool, Remarks: e.Remarks})
	if err != nil {
		return err
	}
	dir := c.directory(key)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	name := trace.Digest(e.Trace)
	if err := publish(filepath.Join(dir, name), c.write(name, plain, e.Set), os.Rename); err != nil {
		return err
	}
	for i, old := range entries(dir) {
		if i >= maxPerKey {
			_ = os.Remove(filepath.Join(dir, old.Name())) // another process may have been faster
		}
	}
	if c.stored.Add(1)%sweepEvery == 1 {
		c.sweep()
	}
	return nil
}

// sweep removes what was not used for the longest time when there is too much.
func (c *Cache) sweep() {
	type file struct {
		path string
		size int64
		used time.Time
	}
	var files []file
	var total int64
	// What cannot be read is not counted and not removed.
	_ = filepath.WalkDir(c.opts.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Dir(path) == c.opts.Dir {
			return nil //nolint:nilerr // as above
		}
		if info, err := d.Info(); err == nil {
			files = append(files, file{path, info.Size(), info.ModTime()})
			total += info.Size()
		}
		return nil
	})
	if total <= c.opts.MaxBytes {
		return
	}
	slices.SortFunc(files, func(a, b file) int { return a.used.Compare(b.used) })
	for _, f := range files {
		if total <= c.opts.MaxBytes*9/10 {
			return
		}
		if os.Remove(f.path) == nil {
			total -= f.size
			_ = os.Remove(filepath.Dir(f.path)) // only succeeds when it is empty
		}
	}
}
