// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// maxMatching bounds the steps that matching patterns takes in one run. The
// interpreter's matcher goes back and tries again, as Lua has it, and cannot be
// stopped: what would take it too long is found out before it begins.
const maxMatching = 10_000_000

// matcher walks over a text by a Lua pattern and counts the steps.
type matcher struct {
	text, pattern string
	steps, most   int
	captures      []span
}

type span struct{ start, end int }

// open is the end of a capture that has none yet.
const open = -1

// rehearse counts the steps of finding so many matches of a pattern, all for less than
// one; it ends the script if there are too many.
func (b *bounded) rehearse(state *lua.LState, text, pattern string, from, matches int) {
	m := &matcher{text: text, pattern: pattern, most: maxMatching - b.matching}
	begin := 0
	if strings.HasPrefix(pattern, "^") {
		begin, matches = 1, 1
	}
	for at, found := max(from, 0), 0; at <= len(text) && found != matches; {
		m.captures = m.captures[:0]
		end := m.match(at, begin)
		if m.steps > m.most {
			b.end(state, errMatching)
		}
		at++
		if end >= 0 {
			found++
			at = max(at, end)
		}
		if begin == 1 {
			break
		}
	}
	b.matching += m.steps
}

// match returns where a match ends that begins at s with the pattern from p on, -1 if
// there is none. A pattern that is none matches nothing: the interpreter says so.
func (m *matcher) match(s, p int) int {
	for {
		if m.steps++; m.steps > m.most {
			return -1
		}
		if e, over := m.ends(s, p); over {
			return e
		}
		switch m.pattern[p] {
		case '(':
			return m.capture(s, p)
		case ')':
			return m.close(s, p)
		case '%':
			if m.isSpecial(p) {
				if s, p = m.special(s, p); s < 0 {
					return -1
				}
				continue
			}
		}
		end := m.classEnd(p)
		if end < 0 {
			return -1
		}
		switch m.suffix(end) {
		case '?':
			if e := m.maybe(s, p, end); e >= 0 {
				return e
			}
			p = end + 1
		case '*':
			return m.longest(s, p, end, 0)
		case '+':
			return m.longest(s, p, end, 1)
		case '-':
			return m.shortest(s, p, end)
		default:
			if !m.single(s, p, end) {
				return -1
			}
			s, p = s+1, end
		}
	}
}

// ends reports whether the pattern is at its end, and where the match ends then.
func (m *matcher) ends(s, p int) (end int, over bool) {
	switch {
	case p >= len(m.pattern):
		return s, true
	case m.pattern[p] != '$' || p+1 < len(m.pattern):
		return -1, false
	case s == len(m.text):
		return s, true
	}
	return -1, true
}

// isSpecial reports whether %bxy or a capture stands at p.
func (m *matcher) isSpecial(p int) bool {
	return p+1 < len(m.pattern) && (m.pattern[p+1] == 'b' || m.pattern[p+1] >= '0' && m.pattern[p+1] <= '9')
}

// suffix is what may say how often a class comes, zero at the end of the pattern.
func (m *matcher) suffix(end int) byte {
	if end < len(m.pattern) {
		return m.pattern[end]
	}
	return 0
}

func (m *matcher) maybe(s, p, end int) int {
	if !m.single(s, p, end) {
		return -1
	}
	return m.match(s+1, end+1)
}

// longest tries the most repetitions first, shortest the fewest.
func (m *matcher) longest(s, p, end, least int) int {
	n := 0
	for m.single(s+n, p, end) {
		n++
		m.steps++
	}
	for ; n >= least; n-- {
		if e := m.match(s+n, end+1); e >= 0 || m.steps > m.most {
			return e
		}
	}
	return -1
}

func (m *matcher) shortest(s, p, end int) int {
	for {
		if e := m.match(s, end+1); e >= 0 || m.steps > m.most {
			return e
		}
		if !m.single(s, p, end) {
			return -1
		}
		s++
	}
}

func (m *matcher) capture(s, p int) int {
	begin := span{s, open}
	if p+1 < len(m.pattern) && m.pattern[p+1] == ')' {
		begin.end = s
		p++
	}
	m.captures = append(m.captures, begin)
	n := len(m.captures)
	e := m.match(s, p+1)
	if e < 0 {
		m.captures = m.captures[:min(n-1, len(m.captures))]
	}
	return e
}

func (m *matcher) close(s, p int) int {
	for i := len(m.captures) - 1; i >= 0; i-- {
		if m.captures[i].end != open {
			continue
		}
		m.captures[i].end = s
		e := m.match(s, p+1)
		if e < 0 && i < len(m.captures) {
			m.captures[i].end = open
		}
		return e
	}
	return -1
}

// special follows %bxy and %1; s is -1 if there is no match.
func (m *matcher) special(s, p int) (end, next int) {
	if n := int(m.pattern[p+1]) - '1'; m.pattern[p+1] != 'b' {
		if n < 0 || n >= len(m.captures) || m.captures[n].end == open {
			return -1, p
		}
		held := m.text[m.captures[n].start:m.captures[n].end]
		m.steps += len(held)
		if !strings.HasPrefix(m.text[s:], held) {
			return -1, p
		}
		return s + len(held), p + 2
	}
	if p+3 >= len(m.pattern) || s >= len(m.text) || m.text[s] != m.pattern[p+2] {
		return -1, p
	}
	depth := 1
	for i := s + 1; i < len(m.text); i++ {
		m.steps++
		switch m.text[i] {
		case m.pattern[p+3]:
			if depth--; depth == 0 {
				return i + 1, p + 4
			}
		case m.pattern[p+2]:
			depth++
		}
	}
	return -1, p
}

// classEnd returns where a class of characters ends, -1 if it does not.
func (m *matcher) classEnd(p int) int {
	switch m.pattern[p] {
	case '%':
		if p+1 >= len(m.pattern) {
			return -1
		}
		return p + 2
	case '[':
		i := p + 1
		if i < len(m.pattern) && m.pattern[i] == '^' {
			i++
		}
		// The first character is one of the set, whatever it is.
		for first := true; i < len(m.pattern); first = false {
			if m.pattern[i] == ']' && !first {
				return i + 1
			}
			if m.pattern[i] == '%' {
				i++
			}
			i++
		}
		return -1
	}
	return p + 1
}

// single reports whether the character at s is of the class between p and end.
func (m *matcher) single(s, p, end int) bool {
	if s >= len(m.text) {
		return false
	}
	switch c := m.text[s]; m.pattern[p] {
	case '.':
		return true
	case '%':
		return inClass(c, m.pattern[p+1])
	case '[':
		m.steps += end - p
		return inSet(c, m.pattern[p+1:end-1])
	default:
		return c == m.pattern[p]
	}
}

func inSet(c byte, set string) bool {
	found := true
	if strings.HasPrefix(set, "^") {
		set, found = set[1:], false
	}
	for i := 0; i < len(set); i++ {
		switch {
		case set[i] == '%' && i+1 < len(set):
			i++
			if inClass(c, set[i]) {
				return found
			}
		case i+2 < len(set) && set[i+1] == '-':
			if set[i] <= c && c <= set[i+2] {
				return found
			}
			i += 2
		case set[i] == c:
			return found
		}
	}
	return !found
}

func inClass(c, class byte) bool {
	letter, digit := c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9'
	var in bool
	switch class | 0x20 {
	case 'a':
		in = letter
	case 'c':
		in = c < 0x20 || c == 0x7f
	case 'd':
		in = digit
	case 'l':
		in = c >= 'a' && c <= 'z'
	case 'p':
		in = c > 0x20 && c < 0x7f && !letter && !digit
	case 's':
		in = c == ' ' || c >= '\t' && c <= '\r'
	case 'u':
		in = c >= 'A' && c <= 'Z'
	case 'w':
		in = letter || digit
	case 'x':
		in = digit || c|0x20 >= 'a' && c|0x20 <= 'f'
	case 'z':
		in = c == 0
	default:
		return c == class
	}
	return in != (class >= 'A' && class <= 'Z')
}
