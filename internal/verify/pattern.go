// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"path"
	"strings"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Pattern stands for objects: "Kind/name", "Kind.group/name" or
// "Kind/namespace/name", where namespace and name may hold the wildcards of path.Match.
type Pattern struct {
	kind, group     string
	namespace, name string
	// text is what was written.
	text string
}

// ParsePattern reads a pattern. The error says what is wrong with it.
func ParsePattern(text string) (Pattern, error) {
	parts := strings.Split(text, "/")
	p := Pattern{text: text, namespace: "*"}
	switch len(parts) {
	case 2:
		p.name = parts[1]
	case 3:
		p.namespace, p.name = parts[1], parts[2]
	default:
		return Pattern{}, fmt.Errorf("%q is no object: write Kind/name or Kind/namespace/name", text)
	}
	p.kind, p.group, _ = strings.Cut(parts[0], ".")
	if p.kind == "" || p.name == "" {
		return Pattern{}, fmt.Errorf("%q is no object: it lacks a kind or a name", text)
	}
	for _, glob := range []string{p.namespace, p.name} {
		if _, err := path.Match(glob, ""); err != nil {
			return Pattern{}, fmt.Errorf("%q: %q is no pattern: %w", text, glob, err)
		}
	}
	return p, nil
}

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.text }

// Matches tells whether the pattern stands for an object. Without a group it
// stands for the kind of every group.
func (p Pattern) Matches(k manifest.Key) bool {
	if p.kind != "*" && p.kind != k.Kind || p.group != "" && p.group != k.Group {
		return false
	}
	namespace, _ := path.Match(p.namespace, k.Namespace)
	name, _ := path.Match(p.name, k.Name)
	return namespace && name
}
