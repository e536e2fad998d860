// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"regexp"
	"strings"
)

// glob is a pattern over relative paths as Argo CD reads it: * and ? match
// slashes too, {a,b} is either, [a-z] and [!a-z] are classes, \ quotes.
type glob struct{ re *regexp.Regexp }

func (g *glob) match(name string) bool { return g.re.MatchString(name) }

func compileGlob(pattern string) (*glob, error) {
	var b strings.Builder
	b.WriteString(`\A(?s:`)
	braces := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			b.WriteString(`.*`)
		case '?':
			b.WriteString(`.`)
		case '{':
			braces++
			b.WriteString(`(?:`)
		case '}':
			if braces--; braces < 0 {
				return nil, errors.New("a } without {")
			}
			b.WriteString(`)`)
		case ',':
			if braces > 0 {
				b.WriteString(`|`)
			} else {
				b.WriteString(`,`)
			}
		case '[':
			end := strings.IndexByte(pattern[i:], ']')
			if end < 2 {
				return nil, errors.New("a [ without ]")
			}
			b.WriteString(class(pattern[i+1 : i+end]))
			i += end
		case '\\':
			if i++; i == len(pattern) {
				return nil, errors.New(`a \ at the end`)
			}
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	if braces != 0 {
		return nil, errors.New("a { without }")
	}
	b.WriteString(`)\z`)
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, errors.New("is not a pattern")
	}
	return &glob{re}, nil
}

func class(inner string) string {
	negate := ""
	if rest, ok := strings.CutPrefix(inner, "!"); ok {
		inner, negate = rest, "^"
	}
	return "[" + negate + strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`).Replace(inner) + "]"
}
