// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package findings

import (
	"encoding/xml"
	"fmt"

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

// JUnit writes findings as the report of a test run: a suite for each application
// that was looked at, where errors are failures, and warnings and remarks output.
func JUnit(apps []string, list []Finding) ([]byte, error) {
	all := suites{Name: "wavetrain verify"}
	for _, app := range apps {
		s := suite{Name: app}
		for _, f := range list {
			if f.App != app {
				continue
			}
			c := testCase{Name: f.Code + " " + f.Subject, Class: app}
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
			s.Cases = []testCase{{Name: "no findings", Class: app}}
		}
		s.Tests = len(s.Cases)
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Suites = append(all.Suites, s)
	}
	data, err := xml.MarshalIndent(all, "", "  ")
	return append([]byte(xml.Header), append(data, '\n')...), err
}
