// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"io"
	"os"
	"path/filepath"
	"slices"
)

const (
	// sweepParts is after which part of the allowed size, newly written, the size is
	// checked.
	sweepParts = 32
	// maxSegments bounds the files: each process that ends leaves one that is not full.
	maxSegments = 256
)

// due tells whether it is time to look at the size of the directory: once, because
// somebody may have made it smaller, and when much has been written since.
func (c *Cache) due(size int64) bool {
	before := c.stored
	c.stored += size
	every := max(c.opts.MaxBytes/sweepParts, 1)
	return before == 0 || before/every != c.stored/every
}

// sweep removes the oldest segments when there is too much, or too many. What
// somebody wanted of one that goes for its size is written once more, as long as
// there is something gained by it; of one that is only one too many, everything.
func (c *Cache) sweep() {
	c.refresh()
	full := c.total() > c.opts.MaxBytes
	for range len(c.segments) {
		oldest := c.segments[0]
		many := len(c.segments) > maxSegments
		if full = full && c.total() > c.opts.MaxBytes*9/10; !full && !many || oldest == c.active {
			return
		}
		room := oldest.size
		if full {
			room /= 2
		}
		if !oldest.other {
			c.save(oldest, room, func(l *location) bool { return l.used || !full })
		}
		// Another process may have been faster.
		_ = os.Remove(filepath.Join(c.dir, oldest.name))
		c.forget(oldest)
	}
}

func (c *Cache) total() int64 {
	var total int64
	for _, s := range c.segments {
		total += s.size
	}
	return total
}

// save writes renderings of a segment once more, up to a size. They have to be
// wanted again to be saved again.
func (c *Cache) save(s *segment, room int64, wanted func(*location) bool) {
	f, err := os.Open(filepath.Join(c.dir, s.name))
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	for of, list := range c.index {
		for _, at := range slices.Clone(list) {
			if at.segment != s || !wanted(at) || at.size() > room {
				continue
			}
			record := make([]byte, at.size())
			if _, err := io.ReadFull(io.NewSectionReader(f, at.offset, at.size()), record); err != nil {
				continue
			}
			if found, _, ok := header(record[:headerSize]); !ok || found != of {
				continue
			}
			moved, err := c.write(record)
			if err != nil {
				return // what cannot be kept is rendered again
			}
			room -= at.size()
			c.replace(of, at, moved)
		}
	}
}

// replace notes that a rendering lies somewhere else now.
func (c *Cache) replace(of id, at, moved *location) {
	if i := slices.Index(c.index[of], at); i >= 0 {
		c.index[of][i] = moved
	}
}
