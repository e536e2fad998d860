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
	// External are objects that are there although nobody renders them:
	// "Kind/name", "Kind/namespace/name", with * as a wildcard.
	External []string `yaml:"external"`
	// Verify is for the checks of verify.
	Verify Verify `yaml:"verify"`
}

// Verify configures checks.
type Verify struct {
	// Ignore leaves findings out.
	Ignore []Ignore `yaml:"ignore"`
}

// Ignore leaves the findings of a code out.
type Ignore struct {
	Code string `yaml:"code"`
	// Match are the objects concerned, as in Config.External; empty for all.
	Match string `yaml:"match"`
	// Reason says why; it is required.
	Reason string `yaml:"reason"`
	// Line at which the entry stands.
	Line int `yaml:"-"`
}

// UnmarshalYAML implements yaml.Unmarshaler; it keeps the line.
func (i *Ignore) UnmarshalYAML(n *yaml.Node) error {
	type plain Ignore
	if err := n.Decode((*plain)(i)); err != nil {
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
	for _, i := range c.Verify.Ignore {
		if i.Code == "" || i.Reason == "" {
			return c, &manifest.ParseError{File: file, Line: i.Line, Msg: "an entry of verify.ignore needs code and reason"}
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
