// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/base64"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxAliased bounds what the aliases of one document may expand to, so that a
// few nested anchors cannot fill the memory.
const maxAliased = 100_000

// value converts a YAML node to the types of the API machinery.
func (d *decoder) value(n *yaml.Node) (any, error) { return d.convert(n, nil) }

// convert is value inside an alias, if within is not nil: open lists the nodes
// whose expansion is not finished.
func (d *decoder) convert(n *yaml.Node, open []*yaml.Node) (any, error) {
	if open != nil {
		if d.aliased++; d.aliased > maxAliased {
			return nil, d.fault(n.Line, "aliases expand to more than %d values", maxAliased)
		}
	}
	switch n.Kind {
	case yaml.MappingNode:
		return d.mapping(n, open)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			v, err := d.convert(item, open)
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return list, nil
	case yaml.AliasNode:
		if slices.Contains(open, n.Alias) {
			return nil, d.fault(n.Line, "alias *%s contains itself", n.Value)
		}
		return d.convert(n.Alias, append(slices.Clip(open), n.Alias))
	default:
		return d.scalar(n)
	}
}

func (d *decoder) mapping(n *yaml.Node, open []*yaml.Node) (any, error) {
	out := make(map[string]any, len(n.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		keyNode, valueNode := n.Content[i], n.Content[i+1]
		if isMerge(keyNode) {
			merges = append(merges, valueNode)
			continue
		}
		key, err := d.key(keyNode)
		if err != nil {
			return nil, err
		}
		if _, twice := out[key]; twice {
			fault := d.fault(keyNode.Line, "key %q is already set in this mapping", key)
			if !d.tolerant {
				return nil, fault
			}
			d.repeated = append(d.repeated, fault)
		}
		if out[key], err = d.convert(valueNode, open); err != nil {
			return nil, err
		}
	}
	for _, m := range merges {
		if err := d.merge(out, m, open); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// merge implements "<<": keys that are already there win.
func (d *decoder) merge(out map[string]any, n *yaml.Node, open []*yaml.Node) error {
	v, err := d.convert(n, open)
	if err != nil {
		return err
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, item := range list {
		content, ok := item.(map[string]any)
		if !ok {
			return d.fault(n.Line, "<< needs a mapping or a list of mappings, not %s", describe(item))
		}
		for k, v := range content {
			if _, set := out[k]; !set {
				out[k] = v
			}
		}
	}
	return nil
}

func isMerge(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "<<" && n.Style == 0 && (n.Tag == "" || n.Tag == "!!merge")
}

// key turns a mapping's key into a string the way kubectl does: a plain yes
// becomes "true", 010 becomes "8".
func (d *decoder) key(n *yaml.Node) (string, error) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		return "", d.fault(n.Line, "a mapping's key must be a scalar")
	}
	v, err := d.scalar(n)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 32), nil
	default:
		return "", d.fault(n.Line, "a mapping's key must not be null")
	}
}

func (d *decoder) scalar(n *yaml.Node) (any, error) {
	tag := ""
	if n.Style&yaml.TaggedStyle != 0 {
		tag = n.ShortTag()
	}
	switch {
	case tag == "!!binary":
		raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
		if err != nil {
			return nil, d.fault(n.Line, "!!binary value is not base64")
		}
		return string(raw), nil
	case tag == "" && n.Style&^yaml.TaggedStyle != 0, tag == "!!str":
		return n.Value, nil
	case tag != "" && !slices.Contains([]string{"!!bool", "!!int", "!!float", "!!null"}, tag):
		return n.Value, nil
	}
	v := plain(n.Value)
	if f, ok := v.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
		return nil, d.fault(n.Line, "%s is a number that JSON cannot carry; put it in quotes if text is meant", n.Value)
	}
	if tag != "" && !tagAgrees(tag, v) {
		return nil, d.fault(n.Line, "%q cannot be read as %s", n.Value, tag)
	}
	return v, nil
}

func tagAgrees(tag string, v any) bool {
	switch v.(type) {
	case nil:
		return tag == "!!null"
	case bool:
		return tag == "!!bool"
	case int64:
		return tag == "!!int" || tag == "!!float"
	case float64:
		return tag == "!!float"
	default:
		return false
	}
}

var decimal = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// word resolves the scalars that are spelled out.
func word(s string) (v any, ok bool) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nil, true
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return false, true
	case ".nan", ".NaN", ".NAN":
		return math.NaN(), true
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF":
		return math.Inf(1), true
	case "-.inf", "-.Inf", "-.INF":
		return math.Inf(-1), true
	}
	return nil, false
}

// plain resolves an unquoted scalar by the rules of YAML 1.1 as kubectl knows
// them: no base 60 and no timestamps, which stay text.
func plain(s string) any {
	if v, ok := word(s); ok {
		return v
	}
	switch c := s[0]; {
	case c == '.':
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return number(f)
		}
	case c >= '0' && c <= '9', c == '-', c == '+':
		digits := strings.ReplaceAll(s, "_", "")
		if i, err := strconv.ParseInt(digits, 0, 64); err == nil {
			return i
		}
		if u, err := strconv.ParseUint(digits, 0, 64); err == nil {
			return float64(u)
		}
		if decimal.MatchString(digits) {
			if f, err := strconv.ParseFloat(digits, 64); err == nil {
				return number(f)
			}
		}
	}
	return s
}

// number gives a whole number the type it has after a trip through JSON, which
// knows no difference between 3 and 3.0.
func number(f float64) any {
	if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return int64(f)
	}
	return f
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
