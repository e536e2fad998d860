// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package unstable finds the fields of a rendered set that do not follow from its
// input: random values, times, generated certificates, what is computed from them,
// and what a template took over from the cluster.
//
// It compares renderings of one input. What becomes of such fields is decided by
// whoever knows the live objects.
package unstable

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Field is a field, or a whole object, that comes out differently.
type Field struct {
	// Object is the object's index in the rendered set.
	Object int `json:"object"`
	// Path leads to the field; "[3]" and "[name=x]" are elements of lists. An
	// empty path is the object itself: it is not in every rendering.
	Path []string `json:"path,omitempty"`
	// Pattern is the part of a text that is always the same, with Gap for the
	// rest; empty if nothing of it is.
	Pattern string `json:"pattern,omitempty"`
	// Encoded says that the pattern is that of the decoded value.
	Encoded bool `json:"encoded,omitempty"`
	// Looked says that the field only differs with what the cluster answered: the
	// input and the cluster decide it.
	Looked bool `json:"looked,omitempty"`
}

// Gap stands in patterns for a part that differs.
const Gap = "\x00"

// Fields are the differing fields of a rendered set.
type Fields struct {
	Fields []Field `json:"fields,omitempty"`
	// Absent are objects that only come out when the cluster is not asked.
	Absent []manifest.Key `json:"absent,omitempty"`
}

// Name writes a path as people do.
func Name(path []string) string {
	var b strings.Builder
	for i, part := range path {
		if i > 0 && part[0] != '[' {
			b.WriteByte('.')
		}
		b.WriteString(part)
	}
	return b.String()
}

// Rendering is a rendered set with the values that functions of chance returned.
type Rendering struct {
	Objects []manifest.Object
	// Chance are these values, the longest first.
	Chance []string
}

// Compare notes where another rendering of the same input differs from the first.
// Looked tells that the other was made without asking the cluster.
func (f *Fields) Compare(a, b Rendering, looked bool) {
	first, other := a.Objects, b.Objects
	c := comparison{fields: f, looked: looked, known: map[string]int{}, chanceA: a.Chance, chanceB: b.Chance}
	for i, field := range f.Fields {
		c.known[field.id()] = i
	}
	unmatched := map[manifest.Key][]manifest.Object{}
	for _, o := range other {
		unmatched[o.Key()] = append(unmatched[o.Key()], o)
	}
	for i, o := range first {
		key := o.Key()
		twins := unmatched[key]
		if len(twins) == 0 {
			c.add(Field{Object: i})
			continue
		}
		unmatched[key] = twins[1:]
		c.object, c.secret = i, key.Group == "" && key.Kind == "Secret"
		c.value(nil, o.Object, twins[0].Object)
	}
	if !looked {
		return
	}
	for _, key := range slices.SortedFunc(maps.Keys(unmatched), manifest.Key.Compare) {
		if len(unmatched[key]) > 0 && !slices.Contains(f.Absent, key) {
			f.Absent = append(f.Absent, key)
		}
	}
}

func (f Field) id() string { return strconv.Itoa(f.Object) + "\x00" + strings.Join(f.Path, "\x00") }

type comparison struct {
	fields *Fields
	looked bool
	object int
	secret bool
	known  map[string]int

	chanceA, chanceB []string
}

// add notes a field, or narrows what is known of it.
func (c *comparison) add(field Field) {
	field.Looked = c.looked
	i, ok := c.known[field.id()]
	if !ok {
		c.known[field.id()] = len(c.fields.Fields)
		c.fields.Fields = append(c.fields.Fields, field)
		return
	}
	known := &c.fields.Fields[i]
	known.Looked = known.Looked && field.Looked
	if known.Pattern != field.Pattern {
		known.Pattern = ""
	}
}

func (c *comparison) value(path []string, a, b any) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			c.maps(path, a, b)
			return
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) == len(b) {
			for i := range a {
				c.value(append(slices.Clip(path), element(a, i)), a[i], b[i])
			}
			return
		}
	case string:
		if b, ok := b.(string); ok {
			if a != b {
				c.text(path, a, b)
			}
			return
		}
	default:
		if a == b {
			return
		}
	}
	c.add(Field{Object: c.object, Path: slices.Clone(path)})
}

func (c *comparison) maps(path []string, a, b map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(a)) {
		at := append(slices.Clip(path), key)
		if other, ok := b[key]; ok {
			c.value(at, a[key], other)
		} else {
			c.add(Field{Object: c.object, Path: at})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b)) {
		if _, ok := a[key]; !ok {
			c.add(Field{Object: c.object, Path: append(slices.Clip(path), key)})
		}
	}
}

func (c *comparison) text(path []string, a, b string) {
	field := Field{Object: c.object, Path: slices.Clone(path)}
	if c.secret && len(path) == 2 && path[0] == "data" {
		if plainA, plainB, ok := decoded(a, b); ok {
			a, b, field.Encoded = plainA, plainB, true
		}
	}
	// The pattern is certain if both texts give it. What came from the cluster is
	// not known as a value of chance: then the text has to fit.
	field.Pattern = pattern(b, c.chanceB)
	if own := pattern(a, c.chanceA); own != field.Pattern && (!c.looked || !field.fits(a)) {
		field.Pattern = ""
	}
	c.add(field)
}

func decoded(a, b string) (plainA, plainB string, ok bool) {
	x, errX := base64.StdEncoding.DecodeString(a)
	y, errY := base64.StdEncoding.DecodeString(b)
	if errX != nil || errY != nil || !utf8.Valid(x) || !utf8.Valid(y) {
		return "", "", false
	}
	return string(x), string(y), true
}

// element names an element of a list: by its name if every element has one of its
// own, so that it is found again in a list of another order.
func element(list []any, i int) string {
	seen := map[string]bool{}
	for _, item := range list {
		m, _ := item.(map[string]any)
		name, _ := m["name"].(string)
		if name == "" || seen[name] {
			return "[" + strconv.Itoa(i) + "]"
		}
		seen[name] = true
	}
	return "[name=" + list[i].(map[string]any)["name"].(string) + "]"
}
