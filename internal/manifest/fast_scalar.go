// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"math"
	"strconv"
)

// maxFastKey bounds a key; the library has bounds of its own.
const maxFastKey = 512

// mappingKey reads "key:" at the beginning of a line and returns what follows.
func (p *fastParser) mappingKey(text []byte) (key string, rest []byte, ok bool) {
	var end int
	switch c := text[0]; {
	case c == '"' || c == '\'':
		value, after, good := quoted(text)
		if !good || len(after) == 0 || after[0] != ':' {
			return "", nil, false
		}
		key, end = value, len(text)-len(after)
	case plainStart(text) && c != '-':
		end = keyEnd(text)
		if end <= 0 || text[end-1] == ' ' || bytes.ContainsAny(text[:end], "#{}[],\"'`&*!|>%@\t") {
			return "", nil, false
		}
		if key, ok = plainKey(string(text[:end])); !ok {
			return "", nil, false
		}
	default:
		return "", nil, false
	}
	rest = text[end+1:]
	if end > maxFastKey || len(rest) > 0 && rest[0] != ' ' {
		return "", nil, false
	}
	return key, bytes.TrimLeft(rest, " "), true
}

// keyEnd finds the colon that ends a key: before a space, or at the end.
func keyEnd(text []byte) int {
	for i, c := range text {
		if c == ':' && (i+1 == len(text) || text[i+1] == ' ') {
			return i
		}
	}
	return -1
}

// plainStart tells whether a scalar without quotes may begin so, beyond doubt.
func plainStart(text []byte) bool {
	switch c := text[0]; {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	case c == '-':
		return len(text) > 1 && text[1] != ' '
	default:
		return c == '/' || c == '.' || c == '_' || c == '$' || c == '(' || c == '+' || c == '~' || c == '^' || c == '=' || c == ';' || c >= 0x80
	}
}

// plainKey is the key that a scalar without quotes stands for.
func plainKey(text string) (string, bool) {
	switch v := plain(text).(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	default:
		return "", false
	}
}

// inline reads a value that begins on a key's line.
func (p *fastParser) inline(text []byte, indent int) any {
	switch text[0] {
	case '|', '>':
		return p.literal(text, indent)
	case '"', '\'':
		value, after, ok := quoted(text)
		if !ok || !onlyComment(after) {
			return p.quit()
		}
		return p.done(value, indent)
	case '[', '{':
		f := flowParser{text: text}
		value := f.node()
		if f.unsure || !onlyComment(f.text) {
			return p.quit()
		}
		return p.done(value, indent)
	}
	if !plainStart(text) {
		return p.quit()
	}
	return p.plainText(text, indent)
}

// done moves on to the next line, which must not go on with a value that is
// complete.
func (p *fastParser) done(value any, indent int) any {
	p.at++
	p.skip()
	if p.at < len(p.lines) && p.lines[p.at].indent > indent {
		return p.quit()
	}
	return value
}

// onlyComment tells whether nothing but space and a comment follows.
func onlyComment(rest []byte) bool {
	trimmed := bytes.TrimLeft(rest, " ")
	return len(trimmed) == 0 || trimmed[0] == '#' && len(trimmed) < len(rest)
}

// plainLine cuts the comment off a line of a scalar without quotes. It is not sure
// of lines that hold a key or a tab.
func plainLine(text []byte) (line []byte, commented, ok bool) {
	if i := bytes.Index(text, []byte(" #")); i >= 0 {
		text, commented = text[:i], true
	}
	text = bytes.TrimRight(text, " ")
	ok = bytes.IndexByte(text, '\t') < 0 && !bytes.Contains(text, []byte(": ")) && !bytes.HasSuffix(text, []byte(":"))
	return text, commented, ok
}

// plainText reads a scalar without quotes. It may go on below, further in.
func (p *fastParser) plainText(text []byte, indent int) any {
	line, commented, ok := plainLine(text)
	if !ok {
		return p.quit()
	}
	p.at++
	var folded []byte
	breaks := 0
	for next := p.at; next < len(p.lines); next++ {
		l := p.lines[next]
		if l.blank {
			breaks++
			continue
		}
		if l.indent <= indent {
			break
		}
		more, ends, ok := plainLine(p.text(next))
		if !ok || commented || p.text(next)[0] == '#' {
			return p.quit()
		}
		if folded == nil {
			folded = append(folded, line...)
		}
		if breaks == 0 {
			folded = append(folded, ' ')
		}
		for range breaks {
			folded = append(folded, '\n')
		}
		folded = append(folded, more...)
		commented, breaks = ends, 0
		p.at = next + 1
	}
	if folded != nil {
		line = folded
	}
	value := plain(string(line))
	if f, isFloat := value.(float64); isFloat && (math.IsInf(f, 0) || math.IsNaN(f)) {
		return p.quit()
	}
	return value
}

// quoted reads a scalar in quotes that ends on its line.
func quoted(text []byte) (value string, rest []byte, ok bool) {
	if text[0] == '\'' {
		return singleQuoted(text[1:])
	}
	end := bytes.IndexAny(text[1:], "\"\\\t") + 1
	if end <= 0 {
		return "", nil, false
	}
	if text[end] == '"' {
		return string(text[1:end]), text[end+1:], true
	}
	var out []byte
	for i := 1; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return string(out), text[i+1:], true
		case '\t':
			return "", nil, false
		case '\\':
			if i++; i == len(text) {
				return "", nil, false
			}
			plain, known := unescaped(text[i])
			if !known {
				return "", nil, false
			}
			out = append(out, plain)
		default:
			out = append(out, c)
		}
	}
	return "", nil, false
}

// unescaped is what a letter after a backslash stands for; numbers are the
// library's.
func unescaped(c byte) (byte, bool) {
	switch c {
	case 'n':
		return '\n', true
	case 't':
		return '\t', true
	case 'r':
		return '\r', true
	case '"', '\\', '/', ' ':
		return c, true
	default:
		return 0, false
	}
}

func singleQuoted(text []byte) (value string, rest []byte, ok bool) {
	var out []byte
	for {
		end := bytes.IndexAny(text, "'\t")
		if end < 0 || text[end] == '\t' {
			return "", nil, false
		}
		if end+1 == len(text) || text[end+1] != '\'' {
			if out == nil {
				return string(text[:end]), text[end+1:], true
			}
			return string(append(out, text[:end]...)), text[end+1:], true
		}
		out = append(append(out, text[:end]...), '\'')
		text = text[end+2:]
	}
}

// literal reads a block scalar: | keeps line breaks, > folds them.
func (p *fastParser) literal(header []byte, indent int) any {
	chomp, given, ok := blockHeader(header[1:])
	if !ok {
		return p.quit()
	}
	p.at++
	column := indent + given
	if given == 0 {
		if column, ok = p.columnOfText(indent); !ok {
			return p.quit()
		}
	}
	b := blockText{keepsBreaks: header[0] == '|'}
	for ; p.at < len(p.lines); p.at++ {
		l := p.lines[p.at]
		if !l.blank && l.indent < column {
			break
		}
		if !l.whole {
			return p.quit()
		}
		if l.blank && l.indent <= column {
			b.empty()
			continue
		}
		b.line(p.data[l.start-(l.indent-column) : l.end])
	}
	if p.at < len(p.lines) && p.text(p.at)[0] == '\t' {
		return p.quit()
	}
	p.skip()
	if p.at < len(p.lines) && p.lines[p.at].indent > indent {
		return p.quit()
	}
	return b.ended(chomp)
}

// blockHeader reads what follows | or >: how the end is treated, and by how much the
// text is indented if that is said.
func blockHeader(text []byte) (chomp byte, given int, ok bool) {
	for _, c := range bytes.TrimRight(text, " ") {
		switch {
		case (c == '+' || c == '-') && chomp == 0:
			chomp = c
		case c >= '1' && c <= '9' && given == 0:
			given = int(c - '0')
		default:
			return 0, 0, false
		}
	}
	return chomp, given, true
}

// columnOfText finds the column of a block scalar, that of its first line with text.
func (p *fastParser) columnOfText(indent int) (column int, ok bool) {
	most := 0
	for _, l := range p.lines[p.at:] {
		if !l.blank {
			return l.indent, l.indent > indent && l.indent >= most && p.data[l.start] != '\t'
		}
		most = max(most, l.indent)
	}
	return 0, false
}

// blockText puts the lines of a block scalar together.
type blockText struct {
	keepsBreaks bool
	text        []byte
	// began says that there was a line, blankBefore that it began with space, breaks
	// counts the empty lines since.
	began, blankBefore bool
	breaks             int
}

func (b *blockText) empty() { b.breaks++ }

func (b *blockText) line(text []byte) {
	blank := text[0] == ' ' || text[0] == '\t'
	switch {
	case !b.began:
	case !b.keepsBreaks && !b.blankBefore && !blank:
		if b.breaks == 0 {
			b.text = append(b.text, ' ')
		}
	default:
		b.text = append(b.text, '\n')
	}
	for range b.breaks {
		b.text = append(b.text, '\n')
	}
	b.text = append(b.text, text...)
	b.began, b.blankBefore, b.breaks = true, blank, 0
}

func (b *blockText) ended(chomp byte) string {
	if b.began && chomp != '-' {
		b.text = append(b.text, '\n')
	}
	if chomp == '+' {
		for range b.breaks {
			b.text = append(b.text, '\n')
		}
	}
	return string(b.text)
}
