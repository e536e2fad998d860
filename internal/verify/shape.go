// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"encoding/base64"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/wavetrain/wavetrain/internal/field"
)

// shapeFault is a place at which a value does not fit its type. Without wants the
// type has no such field.
type shapeFault struct{ path, has, wants string }

// shapes compares decoded manifests with the Go types of the API, and remembers
// the fields of those.
type shapes map[reflect.Type]map[string]reflect.Type

// crumb is a step of the path to a value. Paths are only written out for faults.
type crumb struct {
	above *crumb
	name  string
	index int
	// in says what the step leads into: a field of an object, an entry of a map or
	// an item of a list.
	in reflect.Kind
}

func (c *crumb) String() string {
	if c == nil {
		return ""
	}
	switch c.in {
	case reflect.Slice:
		return field.Index(c.above.String(), c.index)
	case reflect.Map:
		return c.above.String() + "[" + c.name + "]"
	default:
		return field.Join(c.above.String(), c.name)
	}
}

// faults returns what does not fit, ordered by path.
func (s shapes) faults(t reflect.Type, v any) []shapeFault {
	var found []shapeFault
	s.check(t, v, nil, func(at *crumb, has, wants string) { found = append(found, shapeFault{at.String(), has, wants}) })
	slices.SortFunc(found, func(a, b shapeFault) int { return strings.Compare(a.path, b.path) })
	return found
}

func (s shapes) check(t reflect.Type, v any, at *crumb, report func(at *crumb, has, wants string)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if v == nil {
		return
	}
	if wants, special := specialType(t, v); special {
		if wants != "" {
			report(at, describe(v), wants)
		}
		return
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		m, ok := v.(map[string]any)
		if !ok {
			report(at, describe(v), "an object")
			return
		}
		s.checkEntries(t, m, at, report)
	case reflect.Slice:
		s.checkList(t, v, at, report)
	default:
		if wants := scalarFault(t.Kind(), v); wants != "" {
			report(at, describe(v), wants)
		}
	}
}

func (s shapes) checkEntries(t reflect.Type, m map[string]any, at *crumb, report func(at *crumb, has, wants string)) {
	if t.Kind() == reflect.Map {
		for name, value := range m {
			s.check(t.Elem(), value, &crumb{above: at, name: name, in: reflect.Map}, report)
		}
		return
	}
	fields := s.fields(t)
	for name, value := range m {
		here := &crumb{above: at, name: name}
		if ft, ok := fields[name]; ok {
			s.check(ft, value, here, report)
		} else {
			report(here, "", "")
		}
	}
}

func (s shapes) checkList(t reflect.Type, v any, at *crumb, report func(at *crumb, has, wants string)) {
	if t.Elem().Kind() == reflect.Uint8 {
		text, ok := v.(string)
		if !ok {
			report(at, describe(v), "base64 text")
		} else if _, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text)); err != nil {
			// The value may be a credential: only that it is no base64 is told.
			report(at, "plain text", "base64 text")
		}
		return
	}
	list, ok := v.([]any)
	if !ok {
		report(at, describe(v), "a list")
		return
	}
	for i, item := range list {
		s.check(t.Elem(), item, &crumb{above: at, index: i, in: reflect.Slice}, report)
	}
}

// fields returns the fields of a struct by their names in JSON, those of embedded
// structs among them.
func (s shapes) fields(t reflect.Type) map[string]reflect.Type {
	if known, ok := s[t]; ok {
		return known
	}
	all := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name != "" && name != "-":
			all[name] = f.Type
		case f.Anonymous || strings.Contains(options, "inline"):
			maps.Copy(all, s.fields(f.Type))
		}
	}
	s[t] = all
	return all
}

// specialType judges values of types that are not written as they are kept.
func specialType(t reflect.Type, v any) (wants string, special bool) {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		if _, err := resource.ParseQuantity(fmt.Sprint(v)); err != nil {
			return "a quantity such as 500m or 1Gi", true
		}
	case reflect.TypeFor[intstr.IntOrString]():
		if _, text := v.(string); !text && scalarFault(reflect.Int32, v) != "" {
			return "a number or a text", true
		}
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		text, ok := v.(string)
		if _, err := time.Parse(time.RFC3339, text); !ok || err != nil {
			return "a time such as 2006-01-02T15:04:05Z", true
		}
	case reflect.TypeFor[metav1.Duration]():
		if _, ok := v.(string); !ok {
			return "a duration such as 30s", true
		}
	case reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[metav1.FieldsV1]():
	default:
		return "", false
	}
	return "", true
}

// scalarFault says what a value of a kind must be; empty if it is.
func scalarFault(k reflect.Kind, v any) string {
	switch k {
	case reflect.String:
		if _, ok := v.(string); !ok {
			return "a text"
		}
	case reflect.Bool:
		if _, ok := v.(bool); !ok {
			return "true or false"
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		switch n := v.(type) {
		case int64:
		case float64:
			if n != float64(int64(n)) {
				return "a whole number"
			}
		default:
			return "a whole number"
		}
	case reflect.Float32, reflect.Float64:
		if _, ok := number(v); !ok {
			return "a number"
		}
	}
	return ""
}

// describe names the type of a value, and short numbers and words themselves.
func describe(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a text"
	case bool:
		return fmt.Sprintf("the boolean %v", v)
	default:
		return fmt.Sprintf("the number %v", v)
	}
}
