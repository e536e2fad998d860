// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"math"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// valueOf turns a resource's nodes into values as "kustomize build" and a reader of
// its output would, without the text in between. It is not sure of anything but the
// plainest nodes.
func valueOf(n *yaml.Node) (map[string]any, bool) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, false
	}
	v, ok := nodeValue(n)
	content, isMap := v.(map[string]any)
	return content, ok && isMap
}

func nodeValue(n *yaml.Node) (any, bool) {
	if n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return nil, false
	}
	switch n.Kind {
	case yaml.MappingNode:
		out := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Kind != yaml.ScalarNode {
				return nil, false
			}
			k, ok := nodeValue(n.Content[i])
			key, isText := k.(string)
			if _, twice := out[key]; !ok || !isText || twice {
				return nil, false
			}
			if out[key], ok = nodeValue(n.Content[i+1]); !ok {
				return nil, false
			}
		}
		return out, true
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			var ok bool
			if out[i], ok = nodeValue(item); !ok {
				return nil, false
			}
		}
		return out, true
	case yaml.ScalarNode:
		return scalarValue(n)
	default:
		return nil, false
	}
}

func scalarValue(n *yaml.Node) (any, bool) {
	block := n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	if !utf8.ValidString(n.Value) || block && strings.TrimLeft(n.Value, " \t\n") != n.Value {
		return nil, false
	}
	switch {
	case n.Tag == yaml.NodeTagString:
		return n.Value, true
	case block || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return n.Value, n.Tag == ""
	}
	// The library resolves what has no tag; a tag that says something else would be
	// written.
	bare := yaml.Node{Kind: yaml.ScalarNode, Value: n.Value}
	tag := bare.ShortTag()
	if n.Tag != "" && n.Tag != tag {
		return nil, false
	}
	switch tag {
	case yaml.NodeTagString:
		return n.Value, true
	case yaml.NodeTagNull:
		return nil, true
	case yaml.NodeTagBool:
		return strings.EqualFold(n.Value, "true"), true
	}
	var v any
	if bare.Decode(&v) != nil {
		return nil, false
	}
	switch v := v.(type) {
	case int:
		return int64(v), true
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, false
		}
		if v == math.Trunc(v) && math.Abs(v) < 1<<63 {
			return int64(v), true
		}
		return v, true
	default:
		return nil, false
	}
}
