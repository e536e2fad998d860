// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	_ "embed"
	"fmt"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/klauspost/compress/zstd"
)

// dictionary is what live objects usually look like: it is why an object of a few
// hundred bytes compresses at all. TestDictionary says how it is made.
//
//go:embed dictionary.zstd
var dictionary []byte

// maxUnpacked bounds what one object may take: etcd stores 1.5 MiB, and JSON is
// never that much longer than what it stores.
const maxUnpacked = 64 << 20

// Codec is how live objects are kept in memory: as compressed JSON. It holds no
// objects, several clusters share one. It is safe for concurrent use.
type Codec struct {
	in  *zstd.Encoder
	out *zstd.Decoder
}

// NewCodec makes a Codec.
func NewCodec() (*Codec, error) { return newCodec(dictionary) }

func newCodec(dictionary []byte) (*Codec, error) {
	in, err := zstd.NewWriter(nil, zstd.WithEncoderDict(dictionary), zstd.WithEncoderConcurrency(2),
		zstd.WithEncoderCRC(false), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithSingleSegment(true), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(128<<10))
	if err != nil {
		return nil, fmt.Errorf("prepare compression: %w", err)
	}
	out, err := zstd.NewReader(nil, zstd.WithDecoderDicts(dictionary), zstd.WithDecoderConcurrency(0),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxUnpacked))
	if err != nil {
		return nil, fmt.Errorf("prepare decompression: %w", err)
	}
	return &Codec{in: in, out: out}, nil
}

// Pack compresses text; equal texts come out equal. What comes out is to be kept: it
// is in memory of its own size.
func (c *Codec) Pack(text []byte) []byte { return slices.Clone(c.pack(nil, text)) }

// Unpack is the reverse of Pack.
func (c *Codec) Unpack(packed []byte) ([]byte, error) { return c.unpack(packed) }

// pack appends compressed text to prefix; equal texts come out equal.
func (c *Codec) pack(prefix, text []byte) []byte { return c.in.EncodeAll(text, prefix) }

func (c *Codec) unpack(packed []byte) ([]byte, error) { return c.out.DecodeAll(packed, nil) }

// unpackObject unpacks and decodes an object: whole numbers come back as int64.
func (c *Codec) unpackObject(packed []byte) (map[string]any, error) {
	text, err := c.unpack(packed)
	if err != nil {
		return nil, err
	}
	obj := map[string]any{}
	if err := utiljson.Unmarshal(text, &obj); err != nil {
		return nil, err
	}
	return obj, nil
}
