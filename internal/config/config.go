// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package config reads .wavetrain.yaml, the file in which a repository tells
// Wavetrain what it cannot see: where the repository lives, what is applied
// first, what objects are for.
//
// The room parses bytes; finding and reading the file is its callers' business.
package config

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// FileName is the file's name; it stands at the root of a repository.
const FileName = ".wavetrain.yaml"

// Config is the content of the file. The zero value is that of a repository
// without one.
type Config struct {
	// Repository is the URL under which Applications know this repository.
	Repository string `yaml:"repository"`
	// Bootstrap are the files, relative to the repository's root, that are
	// applied by hand; everything else is reached from there.
	Bootstrap []string `yaml:"bootstrap"`
	// Purposes say what objects are for. The first that matches counts.
	Purposes []Purpose `yaml:"purposes"`
	// External are objects that are there although nobody renders them.
	External []External `yaml:"external"`
	// References add to what is known of kinds naming each other.
	References []Reference `yaml:"references"`
	// Nodes are the sorts of nodes that clusters have.
	Nodes []Node `yaml:"nodes"`
	// Verify is for the checks of verify.
	Verify Verify `yaml:"verify"`
}

// Verify configures checks.
type Verify struct {
	// Ignore leaves findings out.
	Ignore []Ignore `yaml:"ignore"`
	// Layout says what may lie where.
	Layout []Layout `yaml:"layout"`
	// Rules are checks of the repository's own.
	Rules []Rule `yaml:"rules"`
}

// Layout restricts the kinds of objects that files may hold.
type Layout struct {
	// Path is a pattern over files from the root of the repository; * stands for any
	// text without a slash, ** for any.
	Path string `yaml:"path"`
	// Only are the kinds allowed, "Kind" or "Kind.group".
	Only []string `yaml:"only"`
	// Reason says why, and where else things belong.
	Reason string `yaml:"reason"`
	// Line at which the entry stands.
	Line int `yaml:"-"`
}

// UnmarshalYAML implements yaml.Unmarshaler; it keeps the line.
func (l *Layout) UnmarshalYAML(n *yaml.Node) error {
	type plain Layout
	if err := strict(n, (*plain)(l), "path", "only", "reason"); err != nil {
		return err
	}
	l.Line = n.Line
	return nil
}

// Rule is a check that the repository brings itself.
type Rule struct {
	// Name is the code of its findings.
	Name string `yaml:"name"`
	// Severity of a finding: error if empty.
	Severity string `yaml:"severity"`
	// Match are the objects concerned, as in External.Object; Path the files that
	// they come from, as in Layout. Empty stands for all.
	Match string `yaml:"match"`
	Path  string `yaml:"path"`
	// Holds is a CEL expression over "object" that is true when all is well.
	Holds string `yaml:"holds"`
	// Message says what is wrong otherwise.
	Message string `yaml:"message"`
	// Tests show what the rule means.
	Tests []RuleTest `yaml:"tests"`
	// Line at which the rule stands.
	Line int `yaml:"-"`
}

// RuleTest is an object and whether the rule holds for it.
type RuleTest struct {
	Name   string         `yaml:"name"`
	Object map[string]any `yaml:"object"`
	Holds  bool           `yaml:"holds"`
}

// UnmarshalYAML implements yaml.Unmarshaler; it keeps the line.
func (r *Rule) UnmarshalYAML(n *yaml.Node) error {
	type plain Rule
	if err := strict(n, (*plain)(r), "name", "severity", "match", "path", "holds", "message", "tests"); err != nil {
		return err
	}
	r.Line = n.Line
	return nil
}

// Ignore leaves the findings of a code out.
type Ignore struct {
	Code string `yaml:"code"`
	// Match are the objects concerned, as in External.Object, Path the files, as in
	// Layout; empty for all.
	Match string `yaml:"match"`
	Path  string `yaml:"path"`
	// Reason says why; it is required.
	Reason string `yaml:"reason"`
	// Line at which the entry stands.
	Line int `yaml:"-"`
}

// UnmarshalYAML implements yaml.Unmarshaler; it keeps the line.
func (i *Ignore) UnmarshalYAML(n *yaml.Node) error {
	type plain Ignore
	if err := strict(n, (*plain)(i), "code", "match", "path", "reason"); err != nil {
		return err
	}
	i.Line = n.Line
	return nil
}

// Purpose says what the objects that match are for.
type Purpose struct {
	// Match is a pattern over Kind/name; * stands for any text without a slash.
	Match string `yaml:"match"`
	// Purpose is shown on the waves page.
	Purpose string `yaml:"purpose"`
}

// Parse reads the file's content. A key it does not know is an error with its
// line, so that a misspelt one does not pass in silence. Errors are
// *manifest.ParseError.
func Parse(file string, data []byte) (Config, error) {
	var c Config
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return c, parseError(file, err)
	}
	if doc.Kind == 0 {
		return c, nil
	}
	in := yaml.NewDecoder(strings.NewReader(string(data)))
	in.KnownFields(true)
	if err := in.Decode(&c); err != nil {
		return c, parseError(file, err)
	}
	if err := c.Verify.check(file); err != nil {
		return c, err
	}
	if _, err := c.Outside(file); err != nil {
		return c, err
	}
	if _, err := c.Table(file); err != nil {
		return c, err
	}
	for _, n := range c.Nodes {
		if err := n.check(); err != nil {
			return c, &manifest.ParseError{File: file, Line: n.Line, Msg: "nodes: " + err.Error()}
		}
	}
	for i, p := range c.Purposes {
		line := purposeLine(&doc, i)
		switch {
		case p.Match == "" || p.Purpose == "":
			return c, &manifest.ParseError{File: file, Line: line, Msg: "an entry of purposes needs match and purpose"}
		case strings.Count(p.Match, "/") != 1:
			return c, &manifest.ParseError{File: file, Line: line, Msg: fmt.Sprintf("match %q is not of the form Kind/name", p.Match)}
		}
		if _, err := path.Match(p.Match, ""); err != nil {
			return c, &manifest.ParseError{File: file, Line: line, Msg: fmt.Sprintf("match %q is not a pattern", p.Match)}
		}
	}
	return c, nil
}

// check says what is incomplete.
func (v Verify) check(file string) error {
	for _, i := range v.Ignore {
		if i.Code == "" || i.Reason == "" {
			return &manifest.ParseError{File: file, Line: i.Line, Msg: "an entry of verify.ignore needs code and reason"}
		}
	}
	for _, r := range v.Rules {
		switch {
		case r.Name == "" || r.Holds == "" || r.Message == "":
			return &manifest.ParseError{File: file, Line: r.Line, Msg: "an entry of verify.rules needs name, holds and message"}
		case r.Severity != "" && r.Severity != "error" && r.Severity != "warning" && r.Severity != "info":
			return &manifest.ParseError{File: file, Line: r.Line, Msg: fmt.Sprintf("severity %q is not known: use error, warning or info", r.Severity)}
		}
	}
	for _, l := range v.Layout {
		if l.Path == "" || len(l.Only) == 0 {
			return &manifest.ParseError{File: file, Line: l.Line, Msg: "an entry of verify.layout needs path and only"}
		}
	}
	return nil
}

// PurposeOf returns what the file says an object is for.
func (c Config) PurposeOf(kind, name string) (string, bool) {
	for _, p := range c.Purposes {
		if ok, err := path.Match(p.Match, kind+"/"+name); ok && err == nil {
			return p.Purpose, true
		}
	}
	return "", false
}

var lineOf = regexp.MustCompile(`line (\d+): (.*)`)

// parseError takes the first line and complaint out of the library's error.
func parseError(file string, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	var wrong *yaml.TypeError
	if errors.As(err, &wrong) && len(wrong.Errors) > 0 {
		text = wrong.Errors[0]
	}
	fault := &manifest.ParseError{File: file, Msg: text}
	if m := lineOf.FindStringSubmatch(text); m != nil {
		fault.Line, _ = strconv.Atoi(m[1])
		fault.Msg = m[2]
	}
	if field, ok := strings.CutPrefix(fault.Msg, "field "); ok {
		name, _, _ := strings.Cut(field, " ")
		fault.Msg = fmt.Sprintf("unknown key %q", name)
	}
	return fault
}

func purposeLine(doc *yaml.Node, i int) int {
	top := doc.Content[0]
	for k := 0; k+1 < len(top.Content); k += 2 {
		if list := top.Content[k+1]; top.Content[k].Value == "purposes" && i < len(list.Content) {
			return list.Content[i].Line
		}
	}
	return 0
}
