// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/json"
	"reflect"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

// sameScalar compares two JSON scalars; numbers compare by value whatever their
// Go type.
func sameScalar(a, b any) bool {
	if x, ok := integer(a); ok {
		if y, ok := integer(b); ok {
			return x == y
		}
	}
	if x, ok := float(a); ok {
		y, ok := float(b)
		return ok && x == y
	}
	switch a.(type) {
	case map[string]any, []any:
		return false
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

func integer(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case int:
		return int64(n), true
	case int32:
		return int64(n), true
	case json.Number:
		i, err := n.Int64()
		return i, err == nil
	default:
		return 0, false
	}
}

func float(v any) (float64, bool) {
	if f, ok := v.(float64); ok {
		return f, true
	}
	i, ok := integer(v)
	return float64(i), ok
}

// same compares two JSON values deeply. Null and absent are the same.
func same(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return false
		}
		for k := range x {
			if !same(x[k], y[k]) {
				return false
			}
		}
		for k := range y {
			if _, ok := x[k]; !ok && y[k] != nil {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !same(x[i], y[i]) {
				return false
			}
		}
		return true
	case nil, bool, string, int64, float64, int, int32, json.Number:
		return sameScalar(a, b)
	default:
		return reflect.DeepEqual(a, b)
	}
}

// empty reports whether v is one of the values that typed objects leave out.
func empty(v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case bool:
		return !x
	case string:
		return x == ""
	case map[string]any:
		return len(x) == 0
	case []any:
		return len(x) == 0
	default:
		f, ok := float(v)
		return ok && f == 0
	}
}

// quantityParents are maps whose values are quantities wherever built-in kinds
// use the name; quantityFields are single fields of that type.
func quantityParent(name string) bool {
	switch name {
	case "limits", "requests", "hard", "capacity", "overhead", "allocatable", "default", "defaultRequest", "maxLimitRequestRatio":
		return true
	default:
		return false
	}
}

func quantityField(name string) bool {
	switch name {
	case "sizeLimit", "divisor", "averageValue":
		return true
	default:
		return false
	}
}

// sameQuantity compares two resource quantities by amount ("1000m" and 1).
func sameQuantity(a, b any) bool {
	x, okX := quantity(a)
	y, okY := quantity(b)
	return okX && okY && x.Cmp(y) == 0
}

func quantity(v any) (resource.Quantity, bool) {
	text, ok := v.(string)
	if i, isInt := integer(v); isInt {
		text, ok = strconv.FormatInt(i, 10), true
	} else if f, isFloat := v.(float64); isFloat {
		text, ok = strconv.FormatFloat(f, 'f', -1, 64), true
	}
	if !ok {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}
