// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// fastParser reads the YAML that people and templates usually write: block
// mappings and sequences, scalars, flow collections on one line. It exists because
// the library builds a tree of nodes with comments and columns, which takes four
// tenths of rendering a chart.
//
// Whatever it is not sure of it leaves to the library, faults included: it never
// decides that a text is wrong, and never reads one otherwise than the library.
type fastParser struct {
	data  []byte
	lines []fastLine
	// at is the line to be read next.
	at     int
	depth  int
	unsure bool
}

// fastLine is a line without its indentation and line break. A blank line has
// nothing but spaces.
type fastLine struct {
	start, end int
	indent     int
	blank      bool
	// whole says that the line ends in a line break.
	whole bool
}

// maxFastDepth bounds nesting; deeper texts are the library's.
const maxFastDepth = 100

// decodeFast decodes a stream of YAML documents if all of it is of the usual kind.
func (d *decoder) decodeFast(data []byte) ([]Object, bool) {
	if !fastText(data) {
		return nil, false
	}
	p := fastParser{data: data, lines: splitLines(data)}
	var objects []Object
	for !p.unsure {
		p.skip()
		if p.at == len(p.lines) {
			return objects, true
		}
		if p.separator() {
			p.at++
			continue
		}
		line := p.at + 1
		content, ok := p.block(0).(map[string]any)
		p.skip()
		if p.unsure || !ok || p.at < len(p.lines) && !p.separator() {
			return nil, false
		}
		if kind, _ := content["kind"].(string); strings.HasSuffix(kind, "List") && content["items"] != nil {
			return nil, false // the lines of items are wanted
		}
		var err error
		if objects, err = d.appendObjects(objects, content, line, nil); err != nil {
			return nil, false
		}
	}
	return nil, false
}

// fastText tells whether a text consists of what needs no care: no byte order mark,
// no carriage returns, no other line breaks than line feeds, no control characters.
func fastText(data []byte) bool {
	if bytes.IndexByte(data, '\r') >= 0 {
		return false
	}
	for i := 0; i < len(data); {
		if c := data[i]; c < utf8.RuneSelf {
			if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 || r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff {
			return false
		}
		i += size
	}
	return true
}

func splitLines(data []byte) []fastLine {
	lines := make([]fastLine, 0, bytes.Count(data, []byte{'\n'})+1)
	for start := 0; start < len(data); {
		l := fastLine{start: start, end: len(data)}
		next := len(data)
		if n := bytes.IndexByte(data[start:], '\n'); n >= 0 {
			l.end, l.whole = start+n, true
			next = l.end + 1
		}
		for l.start < l.end && data[l.start] == ' ' {
			l.start++
		}
		l.indent, l.blank = l.start-start, l.start == l.end
		lines = append(lines, l)
		start = next
	}
	return lines
}

func (p *fastParser) text(i int) []byte { return p.data[p.lines[i].start:p.lines[i].end] }

// skip passes over blank lines and comments.
func (p *fastParser) skip() {
	for p.at < len(p.lines) && (p.lines[p.at].blank || p.data[p.lines[p.at].start] == '#') {
		p.at++
	}
}

// separator tells whether the present line parts two documents. What else may
// stand in the first column with a meaning of its own is not for us.
func (p *fastParser) separator() bool {
	l := p.lines[p.at]
	text := p.text(p.at)
	if l.indent > 0 || len(text) < 3 {
		return false
	}
	if text[0] == '%' || bytes.HasPrefix(text, []byte("...")) {
		p.unsure = true
		return false
	}
	if !bytes.HasPrefix(text, []byte("---")) {
		return false
	}
	rest := bytes.TrimRight(text[3:], " ")
	if len(rest) > 0 && text[3] != '-' {
		p.unsure = true
	}
	return len(rest) == 0
}

// quit leaves the text to the library.
func (p *fastParser) quit() any {
	p.unsure = true
	return nil
}

// block reads the node that begins on the present line, which is indented by at
// least as much as said.
func (p *fastParser) block(atLeast int) any {
	l := p.lines[p.at]
	text := p.text(p.at)
	if p.depth++; p.depth > maxFastDepth || l.indent < atLeast {
		return p.quit()
	}
	defer func() { p.depth-- }()
	if isItem(text) {
		return p.sequence(l.indent)
	}
	return p.mapping(l.indent)
}

func isItem(text []byte) bool {
	return text[0] == '-' && (len(text) == 1 || text[1] == ' ')
}

// mapping reads the mapping whose keys stand in a column.
func (p *fastParser) mapping(indent int) any {
	out := map[string]any{}
	for !p.unsure {
		key, rest, ok := p.mappingKey(p.text(p.at))
		if !ok {
			return p.quit()
		}
		if _, twice := out[key]; twice {
			return p.quit()
		}
		out[key] = p.value(rest, indent, true)
		if !p.more(indent) {
			break
		}
	}
	return out
}

// more tells whether the next line with content goes on in a column. A document's
// end is the end of everything.
func (p *fastParser) more(indent int) bool {
	p.skip()
	if p.unsure || p.at == len(p.lines) || p.lines[p.at].indent < indent || p.separator() {
		return false
	}
	if p.unsure || p.lines[p.at].indent > indent {
		p.unsure = true
		return false
	}
	return true
}

// sequence reads the sequence whose dashes stand in a column.
func (p *fastParser) sequence(indent int) any {
	out := []any{}
	for !p.unsure {
		text := p.text(p.at)
		if !isItem(text) {
			// In the column of a key, a sequence ends where the next key begins.
			break
		}
		out = append(out, p.item(text, indent))
		if !p.more(indent) {
			break
		}
	}
	return out
}

// item reads one element. What follows the dash is a node of its own, further in.
func (p *fastParser) item(text []byte, indent int) any {
	rest := bytes.TrimLeft(text[1:], " ")
	if len(rest) == 0 || rest[0] == '#' {
		return p.value(nil, indent, false)
	}
	inner := &p.lines[p.at]
	if isItem(rest) {
		inner.indent += len(text) - len(rest)
		inner.start = inner.end - len(rest)
		return p.block(indent + 1)
	}
	if _, _, ok := p.mappingKey(rest); ok {
		inner.indent += len(text) - len(rest)
		inner.start = inner.end - len(rest)
		return p.block(indent + 1)
	}
	if p.unsure {
		return nil
	}
	return p.value(rest, indent, false)
}

// value reads what follows a key or a dash: on the same line if there is
// something, or else the node below that is further in. The sequence of a key may
// stand in the key's own column.
func (p *fastParser) value(rest []byte, indent int, ofKey bool) any {
	if len(rest) > 0 && rest[0] != '#' {
		return p.inline(rest, indent)
	}
	p.at++
	p.skip()
	if p.at == len(p.lines) {
		return nil
	}
	l := p.lines[p.at]
	switch {
	case l.indent > indent:
		return p.block(indent + 1)
	case ofKey && l.indent == indent && isItem(p.text(p.at)):
		return p.block(indent)
	default:
		return nil
	}
}
