// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package packed keeps rendered objects as compressed bytes. An Application at
// rest costs its share of a repository's text instead of a tree of maps, which
// is what lets one controller hold a hundred thousand objects.
//
// It knows nothing of where the bytes are kept.
package packed

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/fxamacker/cbor/v2"
	"github.com/klauspost/compress/zstd"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Bounds of what is decoded: deeper or longer than any manifest, short of what
// would exhaust the stack or the memory.
const (
	maxDepth    = 1000
	maxElements = 1 << 24
	maxUnpacked = 1 << 30
)

// Codec packs and unpacks. Making one is expensive, using it is not; it may be
// used by several goroutines.
type Codec struct {
	encode  cbor.EncMode
	decode  cbor.DecMode
	deflate *zstd.Encoder
	inflate *zstd.Decoder
	recent  recent
}

// NewCodec makes a Codec.
func NewCodec() (*Codec, error) {
	encode, err := cbor.EncOptions{}.EncMode()
	if err != nil {
		return nil, err
	}
	decode, err := cbor.DecOptions{
		DefaultMapType: reflect.TypeFor[map[string]any](), IntDec: cbor.IntDecConvertSignedOrFail, UTF8: cbor.UTF8DecodeInvalid,
		MaxNestedLevels: maxDepth, MaxArrayElements: maxElements, MaxMapPairs: maxElements,
	}.DecMode()
	if err != nil {
		return nil, err
	}
	deflate, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	inflate, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxUnpacked))
	if err != nil {
		return nil, err
	}
	return &Codec{encode: encode, decode: decode, deflate: deflate, inflate: inflate}, nil
}

// Marshal encodes and compresses any value.
func (c *Codec) Marshal(v any) ([]byte, error) {
	plain, err := c.encode.Marshal(v)
	if err != nil {
		return nil, err
	}
	packed := c.deflate.EncodeAll(plain, nil)
	return append(make([]byte, 0, len(packed)), packed...), nil
}

// Unmarshal reads what Marshal made.
func (c *Codec) Unmarshal(data []byte, into any) error {
	plain, err := c.inflate.DecodeAll(data, nil)
	if err != nil {
		return err
	}
	return c.decode.Unmarshal(plain, into)
}

// Item is the form in which an object is encoded.
type Item struct {
	_      struct{} `cbor:",toarray"`
	Object map[string]any
	File   string
	Line   int
	Chart  string
	Source int
}

// Items turns objects into their encodable form.
func Items(objects []manifest.Object) []Item {
	items := make([]Item, len(objects))
	for i, o := range objects {
		p := o.Provenance
		items[i] = Item{Object: o.Object, File: p.File, Line: p.Line, Chart: p.Chart, Source: p.Source}
	}
	return items
}

// Objects turns items back into objects.
func Objects(items []Item) []manifest.Object {
	objects := make([]manifest.Object, len(items))
	for i, item := range items {
		objects[i] = manifest.Object{
			Unstructured: &unstructured.Unstructured{Object: item.Object},
			Provenance:   manifest.Provenance{File: item.File, Line: item.Line, Chart: item.Chart, Source: item.Source},
		}
	}
	return objects
}

// Set is a packed list of objects.
type Set struct {
	codec *Codec
	data  []byte
	count int
}

// Pack packs objects.
func (c *Codec) Pack(objects []manifest.Object) (*Set, error) {
	data, err := c.Marshal(Items(objects))
	if err != nil {
		return nil, fmt.Errorf("pack %d objects: %w", len(objects), err)
	}
	return &Set{codec: c, data: data, count: len(objects)}, nil
}

// Open is the set of count objects whose packed form somebody has kept.
func (c *Codec) Open(data []byte, count int) *Set { return &Set{codec: c, data: data, count: count} }

// Len is the number of objects.
func (s *Set) Len() int { return s.count }

// Size is the number of bytes that the set occupies at rest.
func (s *Set) Size() int { return len(s.data) }

// Objects unpacks. The objects are shared and must not be changed.
func (s *Set) Objects() ([]manifest.Object, error) {
	if objects, ok := s.codec.recent.get(s); ok {
		return objects, nil
	}
	var items []Item
	if err := s.codec.Unmarshal(s.data, &items); err != nil {
		return nil, fmt.Errorf("unpack %d objects: %w", s.count, err)
	}
	objects := Objects(items)
	s.codec.recent.put(s, objects)
	return objects, nil
}

// maxRecent bounds how many sets stay unpacked: those of the Applications that
// are worked on at the same time.
const maxRecent = 16

// recent holds the sets that were unpacked last, because one look at an
// Application asks for its objects several times.
type recent struct {
	mu   sync.Mutex
	list []unpacked
}

type unpacked struct {
	set     *Set
	objects []manifest.Object
}

// Rest drops what was unpacked last.
func (c *Codec) Rest() {
	c.recent.mu.Lock()
	defer c.recent.mu.Unlock()
	c.recent.list = nil
}

func (r *recent) get(set *Set) ([]manifest.Object, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.list, func(u unpacked) bool { return u.set == set })
	if i < 0 {
		return nil, false
	}
	found := r.list[i]
	r.list = append(slices.Delete(r.list, i, i+1), found)
	return found.objects, true
}

func (r *recent) put(set *Set, objects []manifest.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) >= maxRecent {
		r.list = slices.Delete(r.list, 0, 1)
	}
	r.list = append(r.list, unpacked{set: set, objects: objects})
}
