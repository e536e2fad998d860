// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// faultError is a fault on a line of its own.
type faultError struct {
	line int
	err  error
}

func (f faultError) Error() string { return f.err.Error() }

func (f faultError) Unwrap() error { return f.err }

// decode reads the value of a step; a field that it does not know is an error, and
// so is a value of another kind.
func (s Step) decode(into any) error {
	if err := knownFields(s.node, reflect.TypeOf(into).Elem()); err != nil {
		return err
	}
	err := s.node.Decode(into)
	if err == nil {
		return nil
	}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := s.node.Line
	if wrong, ok := errors.AsType[*yaml.TypeError](err); ok && len(wrong.Errors) > 0 {
		text = wrong.Errors[0]
	}
	var rest string
	if n, _ := fmt.Sscanf(text, "line %d: ", &line); n == 1 {
		_, rest, _ = strings.Cut(text, ": ")
		text = rest
	}
	return faultError{line, errors.New(text)}
}

// knownFields finds fields that a structure does not have.
func knownFields(n *yaml.Node, of reflect.Type) error {
	if of.Kind() == reflect.Struct && n.Kind != yaml.MappingNode {
		return faultError{n.Line, fmt.Errorf("%q is not enough: its fields are %s", n.Value, strings.Join(fieldNames(of), ", "))}
	}
	if of.Kind() != reflect.Struct {
		return nil
	}
	for k := 0; k+1 < len(n.Content); k += 2 {
		key := n.Content[k]
		i := slices.Index(fieldNames(of), key.Value)
		if i < 0 {
			return faultError{key.Line, fmt.Errorf("there is no field %q%s", key.Value, choices(key.Value, fieldNames(of)))}
		}
		if err := knownFields(n.Content[k+1], of.Field(i).Type); err != nil {
			return err
		}
	}
	return nil
}

func fieldNames(of reflect.Type) []string {
	names := make([]string, of.NumField())
	for i := range names {
		names[i] = of.Field(i).Tag.Get("yaml")
	}
	return names
}

// choices says which words there are, and which one was probably meant.
func choices(word string, words []string) string {
	text := "; there are " + strings.Join(words, ", ")
	for _, w := range words {
		if similar(strings.ToLower(word), strings.ToLower(w)) {
			return fmt.Sprintf(" (did you mean %q?)", w) + text
		}
	}
	return text
}

// similar tells whether two words differ by one or two slips of the finger.
func similar(a, b string) bool {
	if len(a) < 3 || len(b) < 3 {
		return false
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)] <= 2
}
