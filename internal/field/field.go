// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package field reads values out of decoded JSON by their paths.
package field

import (
	"strconv"
	"strings"
)

// At returns the value below v at a dotted path, nil if there is none. It copies
// nothing.
func At(v any, path string) any {
	for path != "" {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		var name string
		name, path, _ = strings.Cut(path, ".")
		v = m[name]
	}
	return v
}

// Text returns the string below v at a dotted path, empty if there is none.
func Text(v any, path string) string {
	s, _ := At(v, path).(string)
	return s
}

// Map returns the map below v at a dotted path, nil if there is none.
func Map(v any, path string) map[string]any {
	m, _ := At(v, path).(map[string]any)
	return m
}

// List returns the list below v at a dotted path, nil if there is none.
func List(v any, path string) []any {
	l, _ := At(v, path).([]any)
	return l
}

// Each calls fn for every value below v that a pattern matches, with the value's
// path. A pattern is a dotted path in which "[*]" after a field stands for every
// element of its list: "spec.rules[*].backend".
func Each(v any, pattern string, fn func(path string, value any)) {
	eachFrom("", v, pattern, fn)
}

func eachFrom(prefix string, v any, pattern string, fn func(path string, value any)) {
	head, rest, more := strings.Cut(pattern, "[*]")
	value := At(v, head)
	path := Join(prefix, head)
	if !more {
		if value != nil {
			fn(path, value)
		}
		return
	}
	items, _ := value.([]any)
	for i, item := range items {
		eachFrom(Index(path, i), item, strings.TrimPrefix(rest, "."), fn)
	}
}

// Join appends a field to a path; either may be empty.
func Join(prefix, field string) string {
	if prefix == "" || field == "" {
		return prefix + field
	}
	return prefix + "." + field
}

// Index appends a list index to a path.
func Index(path string, i int) string {
	return path + "[" + strconv.Itoa(i) + "]"
}
