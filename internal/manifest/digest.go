// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strconv"
)

// Digest returns a digest of a rendered set. The order of the objects, where
// they were written and repetitions of an equal object have no influence.
func Digest(objs []Object) string {
	sums := make([]string, 0, len(objs))
	h := sha256.New()
	w := canonicalWriter{hash: h}
	for _, o := range objs {
		h.Reset()
		w.value(o.Object)
		w.flush()
		sums = append(sums, string(h.Sum(nil)))
	}
	slices.Sort(sums)
	h.Reset()
	for _, sum := range slices.Compact(sums) {
		h.Write([]byte(sum))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// canonicalWriter feeds a JSON-like value to a hash, maps in the order of their
// keys, every string with its length in front. It exists because encoding/json
// takes several times as long and the digest is taken on every comparison.
type canonicalWriter struct {
	hash hash.Hash
	buf  []byte
}

func (w *canonicalWriter) flush() {
	w.hash.Write(w.buf)
	w.buf = w.buf[:0]
}

func (w *canonicalWriter) text(kind byte, s string) {
	w.buf = append(w.buf, kind)
	w.buf = strconv.AppendInt(w.buf, int64(len(s)), 10)
	w.buf = append(w.buf, ':')
	w.buf = append(w.buf, s...)
	if len(w.buf) > 4096 {
		w.flush()
	}
}

func (w *canonicalWriter) value(v any) {
	switch v := v.(type) {
	case nil:
		w.buf = append(w.buf, 'z')
	case string:
		w.text('s', v)
	case bool:
		w.buf = append(w.buf, 'b')
		w.buf = strconv.AppendBool(w.buf, v)
	case int64:
		w.text('n', strconv.FormatInt(v, 10))
	case float64:
		// Equal to the text of an int64 of the same value: whether a renderer
		// wrote 1 or 1.0 is no difference.
		w.text('n', strconv.FormatFloat(v, 'f', -1, 64))
	case []any:
		w.text('l', strconv.Itoa(len(v)))
		for _, item := range v {
			w.value(item)
		}
	case map[string]any:
		w.text('m', strconv.Itoa(len(v)))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			w.text('k', key)
			w.value(v[key])
		}
	default:
		w.text('?', fmt.Sprintf("%T %v", v, v))
	}
}
