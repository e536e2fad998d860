// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"regexp"
	"strings"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Lines gives findings about objects that a template made the line at which the
// template writes them. Objects are the rendered set in its order; read returns a
// file, nil if it cannot. Where that cannot be told, the line stays open.
func Lines(found []Finding, objects []manifest.Object, read func(file string) []byte) {
	texts := map[string][]string{}
	for i := range found {
		f := &found[i]
		if f.At.File == "" || f.At.Line > 0 || f.Subject.Kind == "" {
			continue
		}
		text, ok := texts[f.At.File]
		if !ok {
			text = strings.Split(string(read(f.At.File)), "\n")
			texts[f.At.File] = text
		}
		nth, of := 0, 0
		for _, o := range objects {
			if o.Provenance.File != f.At.File || o.GetKind() != f.Subject.Kind {
				continue
			}
			if o.GetName() == f.Subject.Name && (o.GetNamespace() == "" || o.GetNamespace() == f.Subject.Namespace) {
				nth = of
			}
			of++
		}
		f.At.Line = lineOf(text, f.Subject, nth, of)
	}
}

// lineOf finds the line "kind: X" of the nth of so many objects of a kind.
func lineOf(text []string, k manifest.Key, nth, of int) int {
	kind := regexp.MustCompile(`^(- |\s)*["']?kind["']?:\s*["']?` + regexp.QuoteMeta(k.Kind) + `["']?\s*(#.*)?$`)
	var at []int
	for i, line := range text {
		// What stands deeper mentions a kind, or is an item of a List.
		if kind.MatchString(line) && len(line)-len(strings.TrimLeft(line, " ")) <= 2 {
			at = append(at, i)
		}
	}
	switch {
	case len(at) == 0:
		return 0
	case len(at) == of:
		return at[nth] + 1
	}
	// A loop or a condition stands around some: the one whose document has the name.
	for n, i := range at {
		end := len(text)
		if n+1 < len(at) {
			end = at[n+1]
		}
		for _, line := range text[i:end] {
			if strings.HasPrefix(line, "---") {
				break
			}
			if strings.HasSuffix(strings.TrimRight(line, ` "'}`), "name: "+k.Name) {
				return i + 1
			}
		}
	}
	return at[0] + 1
}
