// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fxamacker/cbor/v2"

	"github.com/wavetrain/wavetrain/internal/render/trace"
)

// magic begins every entry; its last letter is the version of the form.
const magic = "wtr2"

var errDamaged = errors.New("is damaged")

// write makes the content of an entry: magic, the length of the sealed head, the
// sealed head, the sealed set. Both are bound to the entry's name.
func (c *Cache) write(name string, plain, set []byte) []byte {
	sealed := c.sealed(name+" head", plain)
	data := binary.BigEndian.AppendUint32([]byte(magic), uint32(len(sealed))) //nolint:gosec // a trace, not gigabytes
	return append(append(data, sealed...), c.sealed(name+" set", set)...)
}

func (c *Cache) sealed(what string, plain []byte) []byte {
	nonce := make([]byte, c.seal.NonceSize())
	// crypto/rand never fails on the platforms Go supports.
	_, _ = rand.Read(nonce)
	return c.seal.Seal(nonce, nonce, plain, []byte(what))
}

func (c *Cache) unsealed(what string, data []byte) ([]byte, error) {
	n := c.seal.NonceSize()
	if len(data) < n {
		return nil, errDamaged
	}
	return c.seal.Open(nil, data[:n], data[n:], []byte(what))
}

// read reads an entry if its trace holds.
func (c *Cache) read(file string, holds func(trace.Trace) bool) (*Entry, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if len(data) < len(magic)+4 || string(data[:len(magic)]) != magic {
		return nil, errDamaged
	}
	length := int(binary.BigEndian.Uint32(data[len(magic):]))
	data = data[len(magic)+4:]
	if length > len(data) {
		return nil, errDamaged
	}
	name := filepath.Base(file)
	plain, err := c.unsealed(name+" head", data[:length])
	if err != nil {
		return nil, err
	}
	var h head
	var read trace.Trace
	if err := errors.Join(cbor.Unmarshal(plain, &h), c.codec.Unmarshal(h.Trace, &read)); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if !holds(read) {
		return nil, nil
	}
	set, err := c.unsealed(name+" set", data[length:])
	if err != nil {
		return nil, err
	}
	return &Entry{Trace: read, PackedTrace: h.Trace, Set: set, Count: h.Count, Digest: h.Digest, Tool: h.Tool, Remarks: h.Remarks}, nil
}
