// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"math"
	"strings"
)

// flowParser reads a flow collection that ends on its line.
type flowParser struct {
	text   []byte
	depth  int
	unsure bool
}

func (f *flowParser) quit() any {
	f.unsure = true
	return nil
}

func (f *flowParser) space() { f.text = bytes.TrimLeft(f.text, " ") }

// take passes over a character if it is the next.
func (f *flowParser) take(c byte) bool {
	f.space()
	if len(f.text) == 0 || f.text[0] != c {
		return false
	}
	f.text = f.text[1:]
	return true
}

func (f *flowParser) node() any {
	f.space()
	if f.depth++; len(f.text) == 0 || f.depth > maxFastDepth {
		return f.quit()
	}
	defer func() { f.depth-- }()
	switch f.text[0] {
	case '[':
		f.text = f.text[1:]
		return f.sequence()
	case '{':
		f.text = f.text[1:]
		return f.mapping()
	case '"', '\'':
		value, rest, ok := quoted(f.text)
		if !ok {
			return f.quit()
		}
		f.text = rest
		return value
	}
	text, ok := f.plain()
	if !ok {
		return f.quit()
	}
	value := plain(text)
	if n, isFloat := value.(float64); isFloat && (math.IsInf(n, 0) || math.IsNaN(n)) {
		return f.quit()
	}
	return value
}

// plain reads a scalar without quotes.
func (f *flowParser) plain() (string, bool) {
	if !plainStart(f.text) {
		return "", false
	}
	end := 0
	for ; end < len(f.text); end++ {
		switch c := f.text[end]; c {
		case ',', ']', '}':
		case ':':
			// A colon may belong to the text; what is beyond doubt is "key: value".
			if end+1 < len(f.text) && f.text[end+1] != ' ' && strings.IndexByte(",[]{}", f.text[end+1]) < 0 {
				continue
			}
		case '[', '{', '#', '\t', '?':
			return "", false
		default:
			continue
		}
		break
	}
	text := bytes.TrimRight(f.text[:end], " ")
	f.text = f.text[end:]
	return string(text), len(text) > 0
}

func (f *flowParser) sequence() any {
	out := []any{}
	if f.take(']') {
		return out
	}
	for !f.unsure {
		out = append(out, f.node())
		if f.take(']') {
			return out
		}
		if !f.take(',') {
			break
		}
	}
	return f.quit()
}

func (f *flowParser) mapping() any {
	out := map[string]any{}
	if f.take('}') {
		return out
	}
	for !f.unsure {
		key, ok := f.key()
		if !ok {
			break
		}
		if _, twice := out[key]; twice {
			break
		}
		out[key] = f.node()
		if f.take('}') {
			return out
		}
		if !f.take(',') {
			break
		}
	}
	return f.quit()
}

// key reads "key: ".
func (f *flowParser) key() (key string, ok bool) {
	f.space()
	if len(f.text) == 0 {
		return "", false
	}
	if f.text[0] == '"' || f.text[0] == '\'' {
		key, f.text, ok = quoted(f.text)
	} else if key, ok = f.plain(); ok {
		key, ok = plainKey(key)
	}
	if !ok || len(key) > maxFastKey || len(f.text) < 2 || f.text[0] != ':' || f.text[1] != ' ' {
		return "", false
	}
	f.text = f.text[1:]
	return key, true
}
