// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"slices"
	"strings"
)

// maxNames is how many names a cell lists before it says "prefix-*".
const maxNames = 6

// abbreviate writes several names into one cell:
//
//	assistant-service, -intelligence, -tooling        one is the prefix of the others
//	core-service-postgres-connection / -init-script   they share a prefix that is no name
//	weaviate, weaviate-grpc, weaviate-headless        the prefix is too short to leave out
//	assistant-service-redis-*                         there are many
//
// A suffix stands for the text after the shared prefix; service is the name
// that readers know anyway.
func abbreviate(service string, names []string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 1 {
		return names[0]
	}
	prefix := commonPrefix(names)
	if len(names) > maxNames && prefix != "" {
		return anyOf(prefix, names)
	}
	if prefix == "" || prefix != service && !strings.ContainsAny(prefix, separators) {
		return strings.Join(names, ", ")
	}
	separator, rest := ", ", names[1:]
	if names[0] != prefix {
		separator = " / "
	}
	parts := []string{names[0]}
	for _, n := range rest {
		parts = append(parts, strings.TrimPrefix(n, prefix))
	}
	return strings.Join(parts, separator)
}

// separators end a part of a name; those of RBAC objects may have colons.
const separators = "-:"

// commonPrefix is the longest prefix that all names share and that ends before
// a separator or at the end of a name.
func commonPrefix(names []string) string {
	prefix := names[0]
	for _, n := range names[1:] {
		for prefix != "" && !leads(prefix, n) {
			prefix = prefix[:max(strings.LastIndexAny(prefix, separators), 0)]
		}
	}
	return prefix
}

func leads(prefix, name string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && (rest == "" || strings.ContainsRune(separators, rune(rest[0])))
}

// wildcard writes the names of many kinds: "prefix-*", or all of them where
// they share nothing.
func wildcard(service string, names []string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	prefix := commonPrefix(names)
	if len(names) < 3 || prefix == "" {
		return abbreviate(service, names)
	}
	return anyOf(prefix, names)
}

// anyOf writes "prefix-*" with the separator that the names have.
func anyOf(prefix string, names []string) string {
	separator := ""
	for _, n := range names {
		if rest := strings.TrimPrefix(n, prefix); rest != "" {
			if separator != "" && separator != rest[:1] {
				return prefix + "*"
			}
			separator = rest[:1]
		}
	}
	return prefix + separator + "*"
}
