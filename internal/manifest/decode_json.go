// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

type jsonSyntaxError struct {
	line int
	msg  string
}

func (e *jsonSyntaxError) Error() string { return e.msg }

func looksLikeJSON(data []byte) bool {
	trimmed := bytes.TrimLeft(data, " \t\r\n\ufeff")
	return len(trimmed) > 0 && trimmed[0] == '{'
}

// decodeJSON reads a stream of JSON documents. It walks tokens instead of
// unmarshalling, because that shows keys that occur twice and line numbers.
func (d *decoder) decodeJSON(data []byte) ([]Object, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	in := json.NewDecoder(bytes.NewReader(data))
	in.UseNumber()
	w := jsonWalker{decoder: d, in: in, lines: lineCounter{data: data}}
	var objects []Object
	for {
		w.items = w.items[:0]
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		line := w.line()
		var value any
		if err == nil {
			value, err = w.value(token, 0)
		}
		if err != nil {
			return nil, w.wrap(err)
		}
		items := w.items
		objects, err = d.appendObjects(objects, value, line, func(i int) int {
			if i < len(items) {
				return items[i]
			}
			return line
		})
		if err != nil {
			return nil, err
		}
	}
}

type jsonWalker struct {
	decoder *decoder
	in      *json.Decoder
	lines   lineCounter
	// items are the lines at which the elements of the top-level "items" begin.
	items []int
}

func (w *jsonWalker) line() int { return w.lines.at(w.in.InputOffset()) }

func (w *jsonWalker) wrap(err error) error {
	if _, ok := errors.AsType[*ParseError](err); ok {
		return err
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &jsonSyntaxError{line: w.lines.at(syntax.Offset), msg: syntax.Error()}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &jsonSyntaxError{line: w.lines.at(int64(len(w.lines.data))), msg: "unexpected end of file"}
	}
	return &jsonSyntaxError{line: w.line(), msg: err.Error()}
}

func (w *jsonWalker) value(token json.Token, depth int) (any, error) {
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return w.object(depth)
		}
		return w.array(depth, false)
	case json.Number:
		return w.number(t)
	default: // string, bool, nil
		return t, nil
	}
}

func (w *jsonWalker) number(n json.Number) (any, error) {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return i, nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, w.decoder.fault(w.line(), "%s is out of range", n)
	}
	return f, nil
}

func (w *jsonWalker) object(depth int) (any, error) {
	out := map[string]any{}
	for w.in.More() {
		token, err := w.in.Token()
		if err != nil {
			return nil, err
		}
		key, ok := token.(string)
		if !ok {
			return nil, errors.New("a key must be a string")
		}
		if _, twice := out[key]; twice {
			fault := w.decoder.fault(w.line(), "key %q is already set in this mapping", key)
			if !w.decoder.tolerant {
				return nil, fault
			}
			w.decoder.repeated = append(w.decoder.repeated, fault)
		}
		if token, err = w.in.Token(); err != nil {
			return nil, err
		}
		if token == json.Delim('[') {
			out[key], err = w.array(depth+1, depth == 0 && key == "items")
		} else {
			out[key], err = w.value(token, depth+1)
		}
		if err != nil {
			return nil, err
		}
	}
	_, err := w.in.Token()
	return out, err
}

func (w *jsonWalker) array(depth int, topLevelItems bool) (any, error) {
	out := []any{}
	for w.in.More() {
		token, err := w.in.Token()
		if err != nil {
			return nil, err
		}
		if topLevelItems {
			w.items = append(w.items, w.line())
		}
		v, err := w.value(token, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	_, err := w.in.Token()
	return out, err
}

// lineCounter turns growing offsets into line numbers in one pass.
type lineCounter struct {
	data   []byte
	offset int64
	lines  int
}

func (c *lineCounter) at(offset int64) int {
	offset = min(offset, int64(len(c.data)))
	if offset < c.offset {
		c.offset, c.lines = 0, 0
	}
	c.lines += bytes.Count(c.data[c.offset:offset], []byte("\n"))
	c.offset = offset
	return c.lines + 1
}
