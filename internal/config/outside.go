// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// External says of objects that they are there although nobody renders them, or
// will be in time. It may be written as a text, which is Object.
type External struct {
	// Object is "Kind/name", "Kind/namespace/name" or "group/Kind/namespace/name",
	// with * as a wildcard.
	Object string `yaml:"object"`
	// NeededBy are objects ("Job/migrate") and phases ("PreSync") that wait for it
	// although they do not mention it.
	NeededBy []string `yaml:"neededBy"`
	// Line at which the entry stands.
	Line int `yaml:"-"`
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (e *External) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*e = External{Object: n.Value, Line: n.Line}
		return nil
	}
	type plain External
	if err := strict(n, (*plain)(e), "object", "neededBy"); err != nil {
		return err
	}
	e.Line = n.Line
	return nil
}

// strict decodes a mapping that has no other keys: a decoder of its own does not
// inherit that unknown ones are errors.
func strict(n *yaml.Node, into any, known ...string) error {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; !slices.Contains(known, key.Value) {
			return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: field %s not found in an entry", key.Line, key.Value)}}
		}
	}
	return n.Decode(into)
}

// compile reads the entry; the error says what is wrong with it.
func (e External) compile() (manifest.External, error) {
	out := manifest.External{}
	var err error
	if out.Pattern, err = manifest.ParsePattern(e.Object); err != nil {
		return out, err
	}
	if len(e.NeededBy) == 0 {
		return out, nil
	}
	if out.Object, err = manifest.ParseNeed(e.Object); err != nil {
		return out, err
	}
	for _, text := range e.NeededBy {
		if phase := manifest.Phase(text); phase.Known() {
			out.Phases = append(out.Phases, phase)
			continue
		}
		p, err := manifest.ParsePattern(text)
		if err != nil {
			return out, fmt.Errorf("neededBy: %w, or a phase such as PreSync", err)
		}
		out.NeededBy = append(out.NeededBy, p)
	}
	return out, nil
}

// outside compiles the entries of external. Errors are *manifest.ParseError.
func outside(file string, entries []External) ([]manifest.External, error) {
	var list []manifest.External
	for _, e := range entries {
		compiled, err := e.compile()
		if err != nil {
			return nil, &manifest.ParseError{File: file, Line: e.Line, Msg: "external: " + err.Error()}
		}
		list = append(list, compiled)
	}
	return list, nil
}

// Outside returns what the file says under external.
func (c Config) Outside(file string) ([]manifest.External, error) { return outside(file, c.External) }

// ParseExternal reads external and nothing else of the file: what a rollout has to
// know. Errors are *manifest.ParseError.
func ParseExternal(file string, data []byte) ([]manifest.External, error) {
	var c struct {
		External []External `yaml:"external"`
	}
	if err := yaml.Unmarshal(data, &c); err != nil {
		return nil, parseError(file, err)
	}
	return outside(file, c.External)
}

// Reference is a row that the repository adds to the table of references: where
// objects of a kind name objects of another.
type Reference struct {
	// Kind has the field, as "group/Kind"; To is the kind that it names.
	Kind string `yaml:"kind"`
	// Path of the field: "spec.credentials[*].secretName".
	Path string `yaml:"path"`
	To   string `yaml:"to"`
	// Cluster says that what is named belongs to no namespace.
	Cluster bool `yaml:"cluster"`
	// Optional says that the object works without what it names, Makes that a
	// controller makes what is named.
	Optional bool `yaml:"optional"`
	Makes    bool `yaml:"makes"`
	// Tests show what the row finds.
	Tests []ReferenceTest `yaml:"tests"`
	// Line at which the row stands.
	Line int `yaml:"-"`
}

// ReferenceTest is an object and the objects that the row finds in it, as
// "Kind/name" or "Kind/namespace/name".
type ReferenceTest struct {
	Name   string         `yaml:"name"`
	Object map[string]any `yaml:"object"`
	Finds  []string       `yaml:"finds"`
}

// UnmarshalYAML implements yaml.Unmarshaler; it keeps the line.
func (r *Reference) UnmarshalYAML(n *yaml.Node) error {
	type plain Reference
	if err := strict(n, (*plain)(r), "kind", "path", "to", "cluster", "optional", "makes", "tests"); err != nil {
		return err
	}
	r.Line = n.Line
	return nil
}

func (r Reference) compile() (manifest.Mention, error) {
	m := manifest.Mention{Path: r.Path, Cluster: r.Cluster, Optional: r.Optional, Makes: r.Makes}
	var err error
	switch {
	case r.Kind == "" || r.Path == "" || r.To == "":
		return m, fmt.Errorf("an entry of references needs kind, path and to")
	case strings.HasPrefix(r.Path, ".") || strings.HasPrefix(r.Path, "/") || strings.Contains(strings.ReplaceAll(r.Path, "[*]", ""), "["):
		return m, fmt.Errorf("references: path %q is no path: write spec.list[*].field", r.Path)
	}
	if m.Of, err = manifest.ParseKind(r.Kind); err == nil {
		m.To, err = manifest.ParseKind(r.To)
	}
	if err != nil {
		return m, fmt.Errorf("references: %w", err)
	}
	return m, nil
}

// Table returns what the file says under references, row by row.
func (c Config) Table(file string) (manifest.Table, error) {
	var t manifest.Table
	for _, r := range c.References {
		m, err := r.compile()
		if err != nil {
			return nil, &manifest.ParseError{File: file, Line: r.Line, Msg: err.Error()}
		}
		t = append(t, m)
	}
	return t, nil
}
