// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// path is the way from an object to one of its fields. Appending to a path
// never changes it.
type path []segment

// segment is a field's name or the selection of a list's item.
type segment struct {
	text string
	item bool
}

func (p path) field(name string) path {
	return append(slices.Clip(p), segment{text: name})
}

func (p path) key(fields []string, item map[string]any) path {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = fmt.Sprintf("%s=%v", f, item[f])
	}
	return append(slices.Clip(p), segment{text: strings.Join(parts, ","), item: true})
}

func (p path) index(i int) path {
	return append(slices.Clip(p), segment{text: strconv.Itoa(i), item: true})
}

// holdsQuantity reports whether built-in kinds keep a resource quantity here.
func (p path) holdsQuantity() bool {
	if len(p) < 2 || p[0].text == "data" || p[0].text == "metadata" {
		return false
	}
	if quantityField(p[len(p)-1].text) {
		return true
	}
	return !p[len(p)-1].item && quantityParent(p[len(p)-2].text)
}

// String writes the path as people do:
// spec.template.spec.containers[name=app].image; a name with other characters
// than letters, digits, "-" and "_" is quoted in brackets.
func (p path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.item:
			b.WriteString("[" + s.text + "]")
		case !plain(s.text):
			b.WriteString("[" + strconv.Quote(s.text) + "]")
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.text)
		}
	}
	return b.String()
}

func plain(name string) bool {
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
		default:
			return false
		}
	}
	return name != ""
}
