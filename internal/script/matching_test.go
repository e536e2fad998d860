// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package script

import (
	"context"
	"strings"
	"testing"

	"github.com/yuin/gopher-lua/pm"
)

// TestPatternsEnd has patterns that go back and try again for ever told so.
func TestPatternsEnd(t *testing.T) {
	t.Parallel()
	for source, fault := range map[string]string{
		"return string.gsub(string.rep('a', 1e5), '.-b', '')":                       "patterns take more than",
		"return string.find(string.rep('a', 5000), '.-.-.-b')":                      "patterns take more than",
		"return string.match(string.rep('a', 5000), '^(.*)(.*)(.*)b')":              "patterns take more than",
		"for w in string.gmatch(string.rep('a', 1e5), '.-b') do end":                "patterns take more than",
		"for i = 1, 1e4 do pcall(string.find, string.rep('a', 1e4), 'a*b') end":     "patterns take more than",
		"return string.find(string.rep('a', 1e5), 'b', 1, true)":                    "",
		"return string.match('Ready: 3 of 5 replicas', '(%d+) of (%d+)')":           "",
		"return string.gsub(string.rep('word ', 1000), '%w+', 'x')":                 "",
		"local n = 0 for w in string.gmatch('a, b, c', '[^,%s]+') do n = n + 1 end": "",
	} {
		compiled, err := CompileLua("test", source)
		if err != nil {
			t.Fatal(err)
		}
		_, err = compiled.Run(context.Background(), nil)
		if fault == "" && err != nil || fault != "" && (err == nil || !strings.Contains(err.Error(), fault)) {
			t.Errorf("%s: error %v, want %q", source, err, fault)
		}
	}
}

// FuzzMatcher compares what the matcher that counts finds with what the interpreter's
// finds: it must walk the same way.
func FuzzMatcher(f *testing.F) {
	for _, seed := range [][2]string{
		{"a(b)c", "%((.-)%)"},
		{"x=1, y=2", "(%w+)=(%d+)"},
		{"f(a(b)c)d", "%b()"},
		{"abcabc", "(abc)%1"},
		{"]x", "[]x]+"},
		{"a-z", "[a%-z]*$"},
		{"  trim ", "^%s*(.-)%s*$"},
		{"aaa", "a?a?a?aaa"},
		{"A1_", "[%a_][%w_]*"},
		{"x", "()x()"},
		{"^a", "[^^]a"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, pattern string) {
		if len(text) > 30 || len(pattern) > 12 {
			return
		}
		found, err := pm.Find(pattern, []byte(text), 0, 1)
		if err != nil {
			return
		}
		m := &matcher{text: text, pattern: pattern, most: maxMatching}
		begin, end := 0, -1
		if strings.HasPrefix(pattern, "^") {
			begin = 1
		}
		at := 0
		for ; at <= len(text) && end < 0; at++ {
			m.captures = nil
			if end = m.match(at, begin); begin == 1 {
				at++
				break
			}
		}
		switch {
		case m.steps > m.most:
		case len(found) == 0 && end >= 0:
			t.Errorf("only ours matches %q by %q", text, pattern)
		case len(found) > 0 && end < 0:
			t.Errorf("%q matches %q, and ours does not", pattern, text)
		case len(found) > 0 && (found[0].Capture(0) != at-1 || found[0].Capture(1) != end):
			t.Errorf("%q in %q: %d to %d, ours is %d to %d", pattern, text, found[0].Capture(0), found[0].Capture(1), at-1, end)
		}
	})
}
