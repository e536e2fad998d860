// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"strings"
	"text/template"
)

// Bounds of what is kept of checksums that templates make.
const (
	maxSums    = 256
	maxSummed  = 256 << 10
	maxAllSums = 8 << 20
)

// sums adds the functions that make checksums, watched: by a checksum nothing can be
// told of what it was made from.
func (w *Witness) sums(into template.FuncMap) {
	for _, name := range []string{"sha256sum", "sha1sum", "sha512sum", "adler32sum"} {
		original, ok := originals()[name].(func(string) string)
		if !ok {
			continue
		}
		into[name] = func(text string) string {
			sum := original(text)
			w.summed(sum, text)
			return sum
		}
	}
}

func (w *Witness) summed(sum, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.texts[sum]; known || len(w.texts) >= maxSums || len(text) > maxSummed || w.kept+len(text) > maxAllSums {
		return
	}
	w.texts[sum] = text
	w.kept += len(text)
}

// Summed returns the texts whose checksums a value holds.
func (w *Witness) Summed(value any) []string {
	held, ok := value.(string)
	if !ok {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for sum, text := range w.texts {
		if strings.Contains(held, sum) {
			list = append(list, text)
		}
	}
	return list
}
