// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/wavetrain/wavetrain/internal/render/trace"
)

// A segment is a file: an opening of magic and the generation of the program, then
// records. A record is a header, the sealed head and the sealed set; a header is
// magic, the ids of its key and its trace, the lengths of the two, and a checksum
// of all that. What follows the last whole record is the end of a process that was
// killed, or a record that another process is about to write.
const (
	segmentMagic = "wtrs\x00\x00\x00\x01"
	openingSize  = len(segmentMagic) + 16
	recordMagic  = "wtr3"
	headerSize   = len(recordMagic) + 16 + 16 + 4 + 4 + 4
)

const (
	segmentSuffix = ".segment"
	// maxSegment is how large a segment grows, unless a sixteenth of what is allowed is
	// less.
	maxSegment    = 8 << 20
	segmentsAtMin = 16
)

var errDamaged = errors.New("is damaged")

// segment is a file of renderings.
type segment struct {
	name string
	// end is where the last whole record that is known ends, size how large the file
	// is.
	end, size int64
	// other says that another version of the program has written it.
	other bool
	// file is open for writing if this process appends to the segment.
	file *os.File
}

// location is where a rendering lies.
type location struct {
	segment   *segment
	offset    int64
	head, set uint32
	trace     id
	// used says that somebody wanted it since it was written here.
	used bool
}

func (l *location) size() int64 { return int64(headerSize) + int64(l.head) + int64(l.set) }

// record makes the bytes of a rendering. What is sealed is bound to the ids.
func (c *Cache) record(of, depends id, plain, set []byte) []byte {
	overhead := c.seal.NonceSize() + c.seal.Overhead()
	record := make([]byte, 0, headerSize+len(plain)+len(set)+2*overhead)
	record = append(record, recordMagic...)
	record = append(record, of[:]...)
	record = append(record, depends[:]...)
	// A rendering's output is bounded far below what four bytes can say.
	record = binary.BigEndian.AppendUint32(record, uint32(len(plain)+overhead)) //nolint:gosec // as above
	record = binary.BigEndian.AppendUint32(record, uint32(len(set)+overhead))   //nolint:gosec // as above
	record = binary.BigEndian.AppendUint32(record, crc32.ChecksumIEEE(record))
	record = c.sealed(record, additional(of, depends, "head"), plain)
	return c.sealed(record, additional(of, depends, "set"), set)
}

func additional(of, depends id, what string) []byte {
	return slices.Concat(of[:], depends[:], []byte(what))
}

func (c *Cache) sealed(to, what, plain []byte) []byte {
	nonce := make([]byte, c.seal.NonceSize())
	// crypto/rand never fails on the platforms Go supports.
	_, _ = rand.Read(nonce)
	return c.seal.Seal(append(to, nonce...), nonce, plain, what)
}

func (c *Cache) unsealed(what, data []byte) ([]byte, error) {
	n := c.seal.NonceSize()
	if len(data) < n {
		return nil, errDamaged
	}
	return c.seal.Open(nil, data[:n], data[n:], what)
}

// header reads the header of a record.
func header(data []byte) (of id, at location, ok bool) {
	body, sum := data[:headerSize-4], data[headerSize-4:]
	if string(body[:len(recordMagic)]) != recordMagic || crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(sum) {
		return of, at, false
	}
	rest := body[len(recordMagic):]
	of, at.trace = id(rest[:16]), id(rest[16:32])
	at.head, at.set = binary.BigEndian.Uint32(rest[32:]), binary.BigEndian.Uint32(rest[36:])
	return of, at, true
}

// read reads a rendering if its trace holds.
func (c *Cache) read(of id, at *location, holds func(trace.Trace) bool) (*Entry, error) {
	f, err := os.Open(filepath.Join(c.dir, at.segment.name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	sealed := make([]byte, at.head)
	if _, err := f.ReadAt(sealed, at.offset+int64(headerSize)); err != nil {
		return nil, err
	}
	plain, err := c.unsealed(additional(of, at.trace, "head"), sealed)
	if err != nil {
		return nil, err
	}
	var h head
	var depends trace.Trace
	if err := errors.Join(cbor.Unmarshal(plain, &h), c.codec.Unmarshal(h.Trace, &depends)); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if !holds(depends) {
		return nil, nil
	}
	sealed = make([]byte, at.set)
	if _, err := f.ReadAt(sealed, at.offset+int64(headerSize)+int64(at.head)); err != nil {
		return nil, err
	}
	set, err := c.unsealed(additional(of, at.trace, "set"), sealed)
	if err != nil {
		return nil, err
	}
	return &Entry{Trace: depends, PackedTrace: h.Trace, Set: set, Count: h.Count, Digest: h.Digest, Tool: h.Tool, Remarks: h.Remarks}, nil
}

// write appends a record to the segment of this process.
func (c *Cache) write(record []byte) (*location, error) {
	if c.active != nil && c.active.size >= min(maxSegment, c.opts.MaxBytes/segmentsAtMin) {
		c.finish()
	}
	if c.active == nil {
		if err := c.begin(); err != nil {
			return nil, err
		}
	}
	_, at, _ := header(record)
	at.segment, at.offset = c.active, c.active.size
	n, err := c.active.file.Write(record)
	c.active.size += int64(n)
	if err != nil {
		// Nobody reads on behind half of a record.
		c.finish()
		return nil, fmt.Errorf("keep a rendering: %w", err)
	}
	c.active.end = c.active.size
	return &at, nil
}

// begin makes a segment for this process.
func (c *Cache) begin() error {
	// Names in the order of time. Two processes that begin one at once differ by chance.
	name := fmt.Sprintf("%016x-%s%s", time.Now().UnixNano(), strings.ToLower(rand.Text()[:8]), segmentSuffix)
	path := filepath.Join(c.dir, name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(c.dir, 0o700); err == nil {
			f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
		}
	}
	if err != nil {
		return fmt.Errorf("begin a file of renderings: %w", err)
	}
	if _, err := f.Write(slices.Concat([]byte(segmentMagic), c.generation[:])); err != nil {
		return errors.Join(fmt.Errorf("begin a file of renderings: %w", err), f.Close(), os.Remove(path))
	}
	c.active = &segment{name: name, end: int64(openingSize), size: int64(openingSize), file: f}
	c.segments = append(c.segments, c.active)
	return nil
}

// finish ends the segment of this process; it goes on to be read.
func (c *Cache) finish() {
	_ = c.active.file.Close() // all was written; what was not is read as damaged
	c.active.file, c.active = nil, nil
}

// refreshIfDue looks for what other processes have written, unless it has just been
// done.
func (c *Cache) refreshIfDue() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.refreshed) < refreshEvery {
		return false
	}
	c.refresh()
	return true
}

// refresh takes note of segments that are new, have grown, or are gone.
func (c *Cache) refresh() {
	c.refreshed = time.Now()
	list, err := os.ReadDir(c.dir)
	if err != nil {
		return // then nothing new is known
	}
	known := make(map[string]*segment, len(c.segments))
	for _, s := range c.segments {
		known[s.name] = s
	}
	for _, found := range list {
		info, err := found.Info()
		if err != nil || !info.Mode().IsRegular() || filepath.Ext(found.Name()) != segmentSuffix {
			continue
		}
		s := known[found.Name()]
		delete(known, found.Name())
		if s == nil {
			s = &segment{name: found.Name()}
			c.segments = append(c.segments, s)
		}
		if s.size < info.Size() {
			s.size = info.Size()
			c.scan(s)
		}
	}
	for _, gone := range known {
		c.forget(gone)
	}
	slices.SortFunc(c.segments, func(a, b *segment) int { return cmp.Compare(a.name, b.name) })
}

// scan notes the records of a segment that are not known yet.
func (c *Cache) scan(s *segment) {
	if s.other {
		return
	}
	f, err := os.Open(filepath.Join(c.dir, s.name))
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	if s.end == 0 {
		opening := make([]byte, openingSize)
		if _, err := f.ReadAt(opening, 0); err != nil {
			return
		}
		if s.other = !bytes.Equal(opening, slices.Concat([]byte(segmentMagic), c.generation[:])); s.other {
			return
		}
		s.end = int64(openingSize)
	}
	data := make([]byte, headerSize)
	for {
		if _, err := f.ReadAt(data, s.end); err != nil {
			return
		}
		of, at, ok := header(data)
		if !ok || s.end+at.size() > s.size {
			return
		}
		at.segment, at.offset = s, s.end
		c.add(of, &at)
		s.end += at.size()
	}
}

// forget drops a segment from memory.
func (c *Cache) forget(s *segment) {
	if s == c.active {
		c.finish()
	}
	c.segments = slices.DeleteFunc(c.segments, func(other *segment) bool { return other == s })
	for of, list := range c.index {
		if list = slices.DeleteFunc(list, func(l *location) bool { return l.segment == s }); len(list) == 0 {
			delete(c.index, of)
		} else {
			c.index[of] = list
		}
	}
}
