// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Expand replaces ${FIELD} in the strings of a value by fields of the object that a rule matched: name,
// namespace, uid and generation, or a path such as spec.dnsNames.0. A string that is nothing but one
// ${FIELD} becomes that field's value, whatever its type. What the object does not have stays as it is.
func Expand(value any, object map[string]any) any {
	switch v := value.(type) {
	case string:
		return expandText(v, object)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = Expand(v[i], object)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key := range v {
			text, _ := expandText(key, object).(string)
			if text == "" {
				text = key
			}
			out[text] = Expand(v[key], object)
		}
		return out
	}
	return value
}

// ExpandText is Expand for a text.
func ExpandText(text string, object map[string]any) string {
	return fmt.Sprint(expandText(text, object))
}

func expandText(text string, object map[string]any) any {
	if !strings.Contains(text, "${") {
		return text
	}
	pattern := regexp.MustCompile(`\$\{([A-Za-z][A-Za-z0-9_.-]*)\}`)
	if m := pattern.FindStringSubmatch(text); m != nil && m[0] == text {
		if found, ok := lookup(object, m[1]); ok {
			return found
		}
		return text
	}
	return pattern.ReplaceAllStringFunc(text, func(token string) string {
		found, ok := lookup(object, token[2:len(token)-1])
		if !ok {
			return token
		}
		return fmt.Sprint(found)
	})
}

func lookup(object map[string]any, path string) (any, bool) {
	switch path {
	case "name", "namespace", "uid", "generation":
		path = "metadata." + path
	}
	var at any = object
	for part := range strings.SplitSeq(path, ".") {
		switch v := at.(type) {
		case map[string]any:
			next, ok := v[part]
			if !ok {
				return nil, false
			}
			at = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, true
}
