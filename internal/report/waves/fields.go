// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"fmt"
	"slices"
	"strings"
)

// at returns the value below v at a path, nil if there is none.
func at(v any, path ...string) any {
	for _, field := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[field]
	}
	return v
}

func text(v any, path ...string) string {
	s, _ := at(v, path...).(string)
	return s
}

func list(v any, path ...string) []any {
	l, _ := at(v, path...).([]any)
	return l
}

func mapping(v any, path ...string) map[string]any {
	m, _ := at(v, path...).(map[string]any)
	return m
}

func number(v any, absent int64, path ...string) int64 {
	if n, ok := at(v, path...).(int64); ok {
		return n
	}
	return absent
}

// texts keeps the strings of a list.
func texts(items []any) []string {
	var out []string
	for _, i := range items {
		if s, ok := i.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// show writes a number or text as it stands in a manifest.
func show(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// maxShown is how many items a cell enumerates.
const maxShown = 4

// some enumerates the first items and counts the rest.
func some(items []string) string {
	if len(items) > maxShown {
		return fmt.Sprintf("%s, +%d", strings.Join(items[:maxShown-1], ", "), len(items)-maxShown+1)
	}
	return strings.Join(items, ", ")
}

// count writes "1 instance" and "3 instances".
func count(n int64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %s", n, plural(word))
}

// add appends what is not empty and not there yet.
func add(items []string, item string) []string {
	if item == "" || slices.Contains(items, item) {
		return items
	}
	return append(items, item)
}

// join joins what is not empty by spaces.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
