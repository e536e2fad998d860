// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strconv"
	"strings"
)

// at returns the value below v at a dotted path, nil if there is none. It copies
// nothing.
func at(v any, path string) any {
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

// textAt returns the string below v at a dotted path, empty if there is none.
func textAt(v any, path string) string {
	s, _ := at(v, path).(string)
	return s
}

// mapAt returns the map below v at a dotted path, nil if there is none.
func mapAt(v any, path string) map[string]any {
	m, _ := at(v, path).(map[string]any)
	return m
}

// listAt returns the list below v at a dotted path, nil if there is none.
func listAt(v any, path string) []any {
	l, _ := at(v, path).([]any)
	return l
}

// each calls fn for every value below v that a pattern matches, with the value's
// path. A pattern is a dotted path in which "[*]" after a field stands for every
// element of its list: "spec.rules[*].backend".
func each(v any, pattern string, fn func(path string, value any)) {
	eachFrom("", v, pattern, fn)
}

func eachFrom(prefix string, v any, pattern string, fn func(path string, value any)) {
	head, rest, more := strings.Cut(pattern, "[*]")
	value := at(v, head)
	path := join(prefix, head)
	if !more {
		if value != nil {
			fn(path, value)
		}
		return
	}
	items, _ := value.([]any)
	for i, item := range items {
		eachFrom(index(path, i), item, strings.TrimPrefix(rest, "."), fn)
	}
}

func join(prefix, field string) string {
	if prefix == "" || field == "" {
		return prefix + field
	}
	return prefix + "." + field
}

func index(path string, i int) string {
	return path + "[" + strconv.Itoa(i) + "]"
}
