// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package findings

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/internal/diag"
)

type suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Suites   []suite  `xml:"testsuite"`
}

type suite struct {
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Cases    []testCase `xml:"testcase"`
}

type testCase struct {
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	Failure *failure `xml:"failure,omitempty"`
	Output  string   `xml:"system-out,omitempty"`
}

type failure struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// general is the suite of findings that belong to no application.
const general = "repository"

// JUnit writes findings as the report of a test run: a suite for each application
// that was looked at, where errors are failures, and warnings and remarks output.
// Findings about a repository as a whole have a suite of their own.
func JUnit(apps []string, list []Finding) ([]byte, error) {
	all := suites{Name: "wavetrain verify"}
	if slices.ContainsFunc(list, func(f Finding) bool { return f.App == "" }) {
		apps = append(slices.Clone(apps), "")
	}
	for _, app := range apps {
		s := suite{Name: cmp.Or(app, general)}
		for _, f := range list {
			if f.App != app {
				continue
			}
			c := testCase{Name: strings.TrimSpace(f.Code + " " + f.Subject), Class: s.Name}
			text := fmt.Sprintf("%s: %s\n%s\n%s", f.Severity, f.Message, f.where(), f.Hint)
			if f.Severity == diag.Error {
				c.Failure = &failure{Type: f.Code, Message: f.Message, Text: text}
				s.Failures++
			} else {
				c.Output = text
			}
			s.Cases = append(s.Cases, c)
		}
		if len(s.Cases) == 0 {
			s.Cases = []testCase{{Name: "no findings", Class: s.Name}}
		}
		s.Tests = len(s.Cases)
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Suites = append(all.Suites, s)
	}
	data, err := xml.MarshalIndent(all, "", "  ")
	return append([]byte(xml.Header), append(data, '\n')...), err
}
