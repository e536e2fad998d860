// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package cache keeps renderings on disk, found by what they depend on: first by
// the options of the source, then by comparing what a rendering has read and asked
// with what it would read and be answered now. Applications and processes share
// it, it may be lost at any time, and a damaged entry is dropped.
//
// Renderings lie one after the other in segments. A process appends to one of its
// own and reads those of all: to make a file takes longer than to write into one,
// a tenth of what it takes to render a chart. Where each rendering lies is in
// memory.
//
// Rendered sets contain Secrets, so everything is encrypted with a key that each
// installation makes for itself. The key lies beside the entries, readable for the
// owner only: that keeps values out of copies, backups and searches of the
// directory, not from somebody who is the owner.
package cache

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
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
	// Dir holds the segments. Required.
	Dir string
	// MaxBytes bounds the directory. Defaults to 1 GiB.
	MaxBytes int64
}

const (
	// maxPerKey is how many renderings of one source with the same options are
	// kept: those of the last commits.
	maxPerKey = 8
	// refreshEvery is how often it is looked, for something that is not known,
	// whether another process has rendered it.
	refreshEvery = time.Second
)

// Cache is a directory of renderings.
type Cache struct {
	opts Options
	dir  string
	seal cipher.AEAD
	// generation stands for the program: another version may render otherwise.
	generation id
	codec      *packed.Codec

	mu sync.Mutex
	// index says where the renderings of a key lie, the latest last.
	index map[id][]*location
	// segments are those of all processes, the oldest first.
	segments  []*segment
	active    *segment
	refreshed time.Time
	// stored is how much was written since the cache was opened.
	stored int64
}

// id is a digest, long enough to tell what there is apart.
type id [16]byte

func idOf(text string) id {
	sum := sha256.Sum256([]byte(text))
	return id(sum[:16])
}

// Open opens the cache and makes it if it is missing.
func Open(opts Options) (*Cache, error) {
	if opts.MaxBytes == 0 {
		opts.MaxBytes = 1 << 30
	}
	c := &Cache{opts: opts, dir: filepath.Join(opts.Dir, "segments"), generation: idOf(generation()), index: map[id][]*location{}}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
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
	if c.seal, err = cipher.NewGCM(block); err != nil {
		return nil, err
	}
	if c.codec, err = packed.NewCodec(); err != nil {
		return nil, err
	}
	c.refresh()
	return c, nil
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

// Find returns the rendering under a key whose trace holds.
func (c *Cache) Find(key string, holds func(trace.Trace) bool) (*Entry, bool) {
	of := idOf(key)
	var tried []*location
	for again := true; again; again = c.refreshIfDue() {
		for _, at := range c.known(of) {
			if slices.Contains(tried, at) {
				continue
			}
			tried = append(tried, at)
			entry, err := c.read(of, at, holds)
			if err != nil {
				// Damaged, written with a key that is gone, or removed by another process.
				c.drop(of, at)
				continue
			}
			if entry != nil {
				c.use(at)
				return entry, true
			}
		}
	}
	return nil, false
}

// known returns where the renderings of a key lie, the latest first.
func (c *Cache) known(of id) []*location {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := slices.Clone(c.index[of])
	slices.Reverse(list)
	return list
}

func (c *Cache) drop(of id, at *location) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index[of] = slices.DeleteFunc(c.index[of], func(l *location) bool { return l == at })
	if len(c.index[of]) == 0 {
		delete(c.index, of)
	}
}

func (c *Cache) use(at *location) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at.used = true
}

// add notes where a rendering lies. It takes the place of one that depends on the
// same, and of the oldest when there are too many.
func (c *Cache) add(of id, at *location) {
	list := slices.DeleteFunc(c.index[of], func(l *location) bool { return l.trace == at.trace })
	if len(list) >= maxPerKey {
		list = slices.Delete(list, 0, len(list)-maxPerKey+1)
	}
	c.index[of] = append(list, at)
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
	// Two renderings of one key are told apart by what they depend on.
	of, depends := idOf(key), idOf(string(e.PackedTrace))
	record := c.record(of, depends, plain, e.Set)
	c.mu.Lock()
	defer c.mu.Unlock()
	at, err := c.write(record)
	if err != nil {
		return err
	}
	c.add(of, at)
	if c.due(int64(len(record))) {
		c.sweep()
	}
	return nil
}
