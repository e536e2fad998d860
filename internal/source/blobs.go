// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// Bounds of the files that are kept for those who read them next.
const (
	// maxBlob is the size up to which a file is kept.
	maxBlob = 64 << 10
	// maxBlobs bounds a generation of kept files.
	maxBlobs = 4 << 20
	// maxWarm bounds what is asked for at once: the question has to fit into a pipe.
	maxWarm = 512
)

// blobs keeps small files of a mirror while it is read: the services of one
// repository share bases and templates.
type blobs struct {
	mu sync.Mutex
	// young and old are two generations, bytes is the size of the younger one.
	young, old map[string][]byte
	bytes      int
}

func newBlobs() *blobs { return &blobs{young: map[string][]byte{}} }

func (b *blobs) get(id string) ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if data, ok := b.young[id]; ok {
		return data, true
	}
	data, ok := b.old[id]
	if ok {
		b.keep(id, data)
	}
	return data, ok
}

func (b *blobs) put(id string, data []byte) {
	if len(data) > maxBlob {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keep(id, data)
}

func (b *blobs) keep(id string, data []byte) {
	if b.bytes > maxBlobs {
		b.old, b.young, b.bytes = b.young, map[string][]byte{}, 0
	}
	if _, known := b.young[id]; !known {
		b.young[id] = data
		b.bytes += len(data) + 2*len(id)
	}
}

func (b *blobs) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.young, b.old, b.bytes = map[string][]byte{}, nil, 0
}

// Warm reads the small files of a directory, and the lists of the directories in
// it, in one go, so that whoever reads them one by one does not wait for each. What
// cannot be read is left for then.
func (s *Snapshot) Warm(name string) {
	if !fs.ValidPath(name) {
		return
	}
	at, err := s.lookup(name)
	if err != nil || at.mode != modeTree {
		return
	}
	objects, ok := at.in.objects.(*objects)
	if !ok {
		return
	}
	children, err := objects.tree(at.id)
	if err != nil {
		return
	}
	var trees, files []string
	for _, child := range children.entries[:min(maxWarm, len(children.entries))] {
		switch child.mode {
		case modeSymlink, modeSubmodule:
		case modeTree:
			if _, known := objects.parsed(child.id); !known {
				trees = append(trees, child.id)
			}
		default:
			if _, known := objects.blobs.get(child.id); !known {
				files = append(files, child.id)
			}
		}
	}
	objects.warm(trees, files)
}

// warm asks for many objects at once and keeps what comes.
func (o *objects) warm(trees, files []string) {
	if len(trees)+len(files) < 2 {
		return
	}
	if o.weigh(files) != nil {
		return
	}
	o.treesMu.Lock()
	ids := slices.Concat(trees, slices.DeleteFunc(files, func(id string) bool {
		size, known := o.sizes[id]
		return !known || size > maxBlob
	}))
	o.treesMu.Unlock()
	// Whoever reads what did not come is told why.
	_ = o.many(&o.proc, "--batch", ids, func(b *batch, id string) error {
		kind, data, err := b.answer(id)
		switch {
		case err != nil:
		case kind == "blob":
			o.blobs.put(id, data)
		case kind == "tree":
			o.remember(id, data)
		}
		return err
	})
}

// weigh finds out the sizes of files that are not known.
func (o *objects) weigh(files []string) error {
	o.treesMu.Lock()
	var ids []string
	for _, id := range files {
		if _, known := o.sizes[id]; !known {
			ids = append(ids, id)
		}
	}
	o.treesMu.Unlock()
	return o.many(&o.checks, "--batch-check", ids, func(b *batch, id string) error {
		_, size, err := b.described(id)
		if err == nil {
			o.sized(id, int64(size))
		}
		return err
	})
}

// many asks a process about many objects at once. One that is missing hinders the
// others not.
func (o *objects) many(proc **batch, mode string, ids []string, answered func(*batch, string) error) error {
	if len(ids) == 0 {
		return nil
	}
	return o.with(proc, mode, func(b *batch) error {
		if err := b.say(strings.Join(ids, "\n")); err != nil {
			return err
		}
		for _, id := range ids {
			if err := answered(b, id); err != nil && !errors.Is(err, errMissingObject) {
				return err
			}
		}
		return nil
	})
}

// remember keeps a tree that was not asked for yet.
func (o *objects) remember(id string, data []byte) {
	entries, err := parseTree(data)
	if err != nil {
		return
	}
	o.treesMu.Lock()
	defer o.treesMu.Unlock()
	o.add(id, newListing(entries))
}
