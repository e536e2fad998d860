// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"strings"
	"testing"
)

func TestGlob(t *testing.T) {
	cases := map[string]struct {
		reason  string
		pattern string
		yes, no []string
	}{
		"Star":     {reason: "A star crosses directories, as in Argo CD.", pattern: "*.yaml", yes: []string{"a.yaml", "b/c/a.yaml"}, no: []string{"a.yml", "a.yaml.txt"}},
		"Question": {reason: "One character.", pattern: "a?.yaml", yes: []string{"ab.yaml"}, no: []string{"a.yaml", "abc.yaml"}},
		"Braces":   {reason: "Alternatives may hold patterns.", pattern: "{config.json,env-*/*}", yes: []string{"config.json", "env-dev/a.yaml"}, no: []string{"x/config.json"}},
		"Nested":   {reason: "Alternatives may nest.", pattern: "{a{b,c},d}", yes: []string{"ab", "ac", "d"}, no: []string{"a", "ad"}},
		"Class":    {reason: "Classes, also negated.", pattern: "[a-c][!x]", yes: []string{"ay"}, no: []string{"ax", "dy"}},
		"Literal":  {reason: "Letters of regular expressions mean themselves.", pattern: "a.b+(c)", yes: []string{"a.b+(c)"}, no: []string{"aXb+(c)"}},
		"Quoted":   {reason: "A backslash quotes.", pattern: `\*\{a,b`, yes: []string{"*{a,b"}, no: []string{"xa"}},
		"Comma":    {reason: "Outside braces a comma is a comma.", pattern: "a,b", yes: []string{"a,b"}, no: []string{"a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g, err := compileGlob(tc.pattern)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range tc.yes {
				if !g.match(s) {
					t.Errorf("%s\n%s must match %s", tc.reason, tc.pattern, s)
				}
			}
			for _, s := range tc.no {
				if g.match(s) {
					t.Errorf("%s\n%s must not match %s", tc.reason, tc.pattern, s)
				}
			}
		})
	}
	for _, broken := range []string{"{a", "a}", "[a", "[]", `a\`, "[z-a]"} {
		if _, err := compileGlob(broken); err == nil {
			t.Errorf("%s is no pattern", broken)
		}
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("{*.yaml,[!a-z]?}", "a.yaml")
	f.Add(`\`, "")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := compileGlob(pattern)
		if err == nil {
			g.match(name)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one line: %q", err)
		}
	})
}
