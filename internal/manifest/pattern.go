// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"path"
	"strings"
)

// Pattern stands for objects, as people write them: "Kind/name", "Kind.group/name",
// "Kind/namespace/name", "group/Kind/name" or "group/Kind/namespace/name", where
// namespace and name may hold the wildcards of path.Match.
type Pattern struct {
	kind, group     string
	namespace, name string
	// text is what was written.
	text string
}

// ParsePattern reads a pattern. The error says what is wrong with it.
func ParsePattern(text string) (Pattern, error) {
	p, err := split(text)
	if err != nil {
		return Pattern{}, err
	}
	for _, glob := range []string{p.namespace, p.name} {
		if _, err := path.Match(glob, ""); err != nil {
			return Pattern{}, fmt.Errorf("%q: %q is no pattern: %w", text, glob, err)
		}
	}
	if p.namespace == "" {
		p.namespace = "*"
	}
	return p, nil
}

// split takes the text apart. A first part in small letters is a group: kinds begin
// with a capital.
func split(text string) (Pattern, error) {
	p := Pattern{text: text}
	parts := strings.Split(text, "/")
	grouped := len(parts) == 4 || len(parts) == 3 && strings.ToLower(parts[0]) == parts[0] && parts[0] != "*"
	if grouped {
		p.group, parts = parts[0], parts[1:]
	}
	switch len(parts) {
	case 2:
		p.name = parts[1]
	case 3:
		p.namespace, p.name = parts[1], parts[2]
		if p.namespace == "" {
			return Pattern{}, fmt.Errorf("%q is no object: it has an empty namespace", text)
		}
	default:
		return Pattern{}, fmt.Errorf("%q is no object: write Kind/name, Kind/namespace/name or group/Kind/namespace/name", text)
	}
	p.kind = parts[0]
	if !grouped {
		p.kind, p.group, _ = strings.Cut(parts[0], ".")
	}
	if p.kind == "" || p.name == "" {
		return Pattern{}, fmt.Errorf("%q is no object: it lacks a kind or a name", text)
	}
	return p, nil
}

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.text }

// Matches tells whether the pattern stands for an object. Without a group it
// stands for the kind of every group.
func (p Pattern) Matches(k Key) bool {
	if p.kind != "*" && p.kind != k.Kind || p.group != "" && p.group != k.Group {
		return false
	}
	namespace, _ := path.Match(p.namespace, k.Namespace)
	name, _ := path.Match(p.name, k.Name)
	return namespace && name
}
