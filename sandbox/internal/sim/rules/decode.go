// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// decoder turns YAML nodes into values; every error names file and line.
type decoder struct{ file string }

// field reads the value of one key.
type field func(n *yaml.Node) error

func (d decoder) errorf(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", d.file, n.Line, fmt.Sprintf(format, args...))
}

// mapping reads n as a mapping of known keys only.
func (d decoder) mapping(n *yaml.Node, what string, known map[string]field) error {
	n = resolve(n)
	if n.Kind != yaml.MappingNode {
		return d.errorf(n, "%s must be a mapping", what)
	}
	seen := make(map[string]bool, len(known))
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], resolve(n.Content[i+1])
		read, ok := known[key.Value]
		switch {
		case !ok:
			names := slices.Sorted(maps.Keys(known))
			return d.errorf(key, "unknown key %q in %s; known are %s", key.Value, what, strings.Join(names, ", "))
		case seen[key.Value]:
			return d.errorf(key, "key %q is there twice in %s", key.Value, what)
		}
		seen[key.Value] = true
		if err := read(value); err != nil {
			return err
		}
	}
	return nil
}

// sequence reads the elements of n, or n itself if it is no sequence.
func (d decoder) sequence(n *yaml.Node, read field) error {
	n = resolve(n)
	if n.Kind != yaml.SequenceNode {
		return read(n)
	}
	for _, item := range n.Content {
		if err := read(resolve(item)); err != nil {
			return err
		}
	}
	return nil
}

// resolve follows an alias to what it stands for.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func (d decoder) text(into *string) field {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
			return d.errorf(n, "a text is wanted here")
		}
		*into = n.Value
		return nil
	}
}

// nonEmpty is text that must not be empty.
func (d decoder) nonEmpty(into *string) field {
	return func(n *yaml.Node) error {
		if err := d.text(into)(n); err != nil {
			return err
		}
		if *into == "" {
			return d.errorf(n, "an empty text is not allowed here")
		}
		return nil
	}
}

func (d decoder) boolean(into *bool) field {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
			return d.errorf(n, "true or false is wanted here, not %q", n.Value)
		}
		return n.Decode(into)
	}
}

// number reads a whole number that is at least least.
func number[T int | int32 | int64](d decoder, into *T, least T) field {
	return func(n *yaml.Node) error {
		var value T
		if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || n.Decode(&value) != nil {
			return d.errorf(n, "a whole number is wanted here, not %q", n.Value)
		}
		if value < least {
			return d.errorf(n, "%d is too small; the least is %d", value, least)
		}
		*into = value
		return nil
	}
}

func (d decoder) duration(into *time.Duration) field {
	return func(n *yaml.Node) error {
		value, err := time.ParseDuration(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil {
			return d.errorf(n, "a duration such as 2s or 1m30s is wanted here, not %q", n.Value)
		}
		if value < 0 {
			return d.errorf(n, "a duration cannot be negative")
		}
		*into = value
		return nil
	}
}

// optional allocates what read fills.
func optional[T any](into **T, read func(*T) field) field {
	return func(n *yaml.Node) error {
		var value T
		if err := read(&value)(n); err != nil {
			return err
		}
		*into = &value
		return nil
	}
}

func (d decoder) ref(into *Ref) field {
	return func(n *yaml.Node) error {
		parts := strings.Split(n.Value, "/")
		if n.Kind != yaml.ScalarNode || len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
			return d.errorf(n, "an object such as Secret/name or Secret/namespace/name is wanted here, not %q", n.Value)
		}
		*into = Ref{Kind: parts[0], Name: parts[len(parts)-1]}
		if len(parts) == 3 {
			into.Namespace = parts[1]
		}
		return nil
	}
}

func (d decoder) refs(into *[]Ref) field {
	return func(n *yaml.Node) error {
		*into = []Ref{}
		return d.sequence(n, func(n *yaml.Node) error {
			var ref Ref
			if err := d.ref(&ref)(n); err != nil {
				return err
			}
			*into = append(*into, ref)
			return nil
		})
	}
}

func (d decoder) texts(into *map[string]string) field {
	return func(n *yaml.Node) error {
		*into = map[string]string{}
		if n.Kind != yaml.MappingNode {
			return d.errorf(n, "a mapping of texts is wanted here")
		}
		for i := 0; i < len(n.Content); i += 2 {
			var value string
			if err := d.text(&value)(resolve(n.Content[i+1])); err != nil {
				return err
			}
			(*into)[n.Content[i].Value] = value
		}
		return nil
	}
}

// value reads anything that JSON can say; whole numbers become int64 as in unstructured objects.
func (d decoder) value(into *any) field {
	return func(n *yaml.Node) error {
		var raw any
		if err := n.Decode(&raw); err != nil {
			return d.errorf(n, "%s", strings.ReplaceAll(err.Error(), "\n", " "))
		}
		value, err := toJSON(raw)
		if err != nil {
			return d.errorf(n, "%v", err)
		}
		*into = value
		return nil
	}
}

func (d decoder) object(into *map[string]any) field {
	return func(n *yaml.Node) error {
		var value any
		if err := d.value(&value)(n); err != nil {
			return err
		}
		m, ok := value.(map[string]any)
		if !ok {
			return d.errorf(n, "a mapping is wanted here")
		}
		*into = m
		return nil
	}
}

func toJSON(value any) (any, error) {
	switch v := value.(type) {
	case nil, string, bool, float64, int64:
		return v, nil
	case int:
		return int64(v), nil
	case time.Time:
		return v.UTC().Format(time.RFC3339), nil
	case []any:
		for i := range v {
			item, err := toJSON(v[i])
			if err != nil {
				return nil, err
			}
			v[i] = item
		}
		return v, nil
	case map[string]any:
		for key := range v {
			item, err := toJSON(v[key])
			if err != nil {
				return nil, err
			}
			v[key] = item
		}
		return v, nil
	default:
		return nil, fmt.Errorf("a value of type %T cannot be part of an object", v)
	}
}
