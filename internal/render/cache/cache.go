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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/wavetrain/wavetrain/internal/render/packed"
	"github.com/wavetrain/wavetrain/internal/render/trace"
)

// Entry is a rendering.
type Entry struct {
	Trace trace.Trace
	// PackedTrace is Trace as package packed writes it; it is made if it is missing.
	PackedTrace []byte
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
	// sweepParts is after which part of the allowed size, newly written, the size is
	// checked: looking at all entries costs more than writing some.
	sweepParts = 32
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
	// stored is how much was written since the cache was opened.
	stored atomic.Int64

	mu sync.Mutex
	// counts are how many renderings there are by the beginning of their names, as
	// far as this process has seen.
	counts map[string]int
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
	return &Cache{opts: opts, seal: seal, generation: generation(), codec: codec, counts: map[string]int{}}, nil
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
		if err := publishFirst(file, key); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return os.ReadFile(file)
}

// temporary writes a file that is given its name later, so that it is there whole or
// not at all.
func temporary(dir string, data []byte) (name string, err error) {
	temp, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return "", err
	}
	_, err = temp.Write(data)
	return temp.Name(), errors.Join(err, temp.Close())
}

// publish writes a file, or replaces it.
func publish(file string, data []byte) error {
	temp, err := temporary(filepath.Dir(file), data)
	if err == nil {
		err = os.Rename(temp, file)
	}
	if err != nil && temp != "" {
		return errors.Join(err, os.Remove(temp))
	}
	return err
}

// publishFirst writes a file unless it exists.
func publishFirst(file string, data []byte) error {
	temp, err := temporary(filepath.Dir(file), data)
	if err == nil {
		err = os.Link(temp, file)
	}
	if temp != "" {
		err = errors.Join(err, os.Remove(temp))
	}
	return err
}

// place is where the renderings of one source with the same options lie: a
// directory, and the beginning of their names in it. Making a directory for each
// source would cost more than writing the renderings.
func (c *Cache) place(key string) (dir, prefix string) {
	sum := sha256.Sum256([]byte(c.generation + "\x00" + key))
	name := hex.EncodeToString(sum[:])
	return filepath.Join(c.opts.Dir, name[:2]), name[2:40] + "-"
}

// Find returns the rendering under a key whose trace holds.
func (c *Cache) Find(key string, holds func(trace.Trace) bool) (*Entry, bool) {
	dir, prefix := c.place(key)
	list := entries(dir, prefix)
	c.counted(prefix, len(list))
	for _, found := range list {
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

func (c *Cache) counted(prefix string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[prefix] = n
}

// crowded tells whether there may be more renderings of a source than are kept, one
// having been added.
func (c *Cache) crowded(prefix string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, known := c.counts[prefix]
	c.counts[prefix] = n + 1
	return !known || n >= maxPerKey
}

// entries lists the files of a directory whose names begin so, the newest first.
func entries(dir, prefix string) []fs.FileInfo {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var found []fs.FileInfo
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
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
	Trace   []byte
	Count   int
	Digest  string
	Tool    string
	Remarks []byte
}

// Store keeps a rendering.
func (c *Cache) Store(key string, e Entry) error {
	if e.PackedTrace == nil {
		var err error
		if e.PackedTrace, err = c.codec.Marshal(e.Trace); err != nil {
			return err
		}
	}
	plain, err := cbor.Marshal(head{Trace: e.PackedTrace, Count: e.Count, Digest: e.Digest, Tool: e.Tool, Remarks: e.Remarks})
	if err != nil {
		return err
	}
	dir, prefix := c.place(key)
	// Two renderings of one key are told apart by what they depend on.
	sum := sha256.Sum256(e.PackedTrace)
	name := prefix + hex.EncodeToString(sum[:16])
	data := c.write(name, plain, e.Set)
	err = publish(filepath.Join(dir, name), data)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			err = publish(filepath.Join(dir, name), data)
		}
	}
	if err != nil {
		return err
	}
	if c.crowded(prefix) {
		list := entries(dir, prefix)
		for _, old := range list[min(maxPerKey, len(list)):] {
			_ = os.Remove(filepath.Join(dir, old.Name())) // another process may have been faster
		}
		c.counted(prefix, min(maxPerKey, len(list)))
	}
	if c.due(int64(len(data))) {
		c.sweep()
	}
	return nil
}

// due tells whether it is time to look at the size of the directory: once, because
// somebody may have made it smaller, and when much has been written since.
func (c *Cache) due(size int64) bool {
	before := c.stored.Add(size) - size
	every := max(c.opts.MaxBytes/sweepParts, 1)
	return before == 0 || before/every != (before+size)/every
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
		}
	}
}
