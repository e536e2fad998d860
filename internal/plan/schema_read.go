// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// schemaOf reads the schema of a version from a definition; nil if it has none that
// can be read, which is for the API server to say. It holds what the values have.
func schemaOf(crd *unstructured.Unstructured, version string, values []any) *spec.Schema {
	field, _, _ := unstructured.NestedFieldNoCopy(crd.Object, "spec", "versions")
	versions, _ := field.([]any)
	for _, v := range versions {
		fields, ok := v.(map[string]any)
		if !ok || fields["name"] != version {
			continue
		}
		raw, _, _ := unstructured.NestedFieldNoCopy(fields, "schema", "openAPIV3Schema")
		data, err := json.Marshal(reduce(raw, values))
		if err != nil || raw == nil {
			return nil
		}
		s := &spec.Schema{}
		if json.Unmarshal(data, s) != nil {
			return nil
		}
		return s
	}
	return nil
}

// reduce returns as much of a schema as values of it need: the fields that one of them
// has, and those that are filled in.
func reduce(v any, values []any) any {
	whole, ok := v.(map[string]any)
	if !ok {
		return v
	}
	short := make(map[string]any, len(whole))
	for key, part := range whole {
		switch key {
		case "properties":
			short[key] = reduceFields(part, values)
		case "items":
			short[key] = reduce(part, items(values))
		case "additionalProperties":
			short[key] = reduce(part, entries(values, whole["properties"]))
		case "description", "example", "x-kubernetes-validations":
		case "default", "enum":
			short[key] = part
		default:
			short[key] = terse(part)
		}
	}
	return short
}

func reduceFields(v any, values []any) any {
	named, ok := v.(map[string]any)
	if !ok {
		return v
	}
	short := map[string]any{}
	for name, part := range named {
		var below []any
		for _, value := range values {
			if m, ok := value.(map[string]any); ok {
				if field, has := m[name]; has {
					below = append(below, field)
				}
			}
		}
		fields, _ := part.(map[string]any)
		if _, fills := fields["default"]; fills || len(below) > 0 {
			// What is filled in may lack fields that are filled in below it.
			short[name] = reduce(part, append(below, fields["default"]))
		}
	}
	return short
}

// items are the items of lists, entries the entries of maps that are no fields of
// their own.
func items(values []any) []any {
	var all []any
	for _, value := range values {
		if list, ok := value.([]any); ok {
			all = append(all, list...)
		}
	}
	return all
}

func entries(values []any, fields any) []any {
	named, _ := fields.(map[string]any)
	var all []any
	for _, value := range values {
		m, _ := value.(map[string]any)
		for name, entry := range m {
			if _, known := named[name]; !known {
				all = append(all, entry)
			}
		}
	}
	return all
}

// terse returns a schema without its texts, which are most of it.
func terse(v any) any {
	switch v := v.(type) {
	case map[string]any:
		short := make(map[string]any, len(v))
		for key, value := range v {
			switch key {
			case "description", "example", "x-kubernetes-validations":
			case "properties", "patternProperties", "definitions":
				short[key] = each(value)
			case "default", "enum":
				short[key] = value
			default:
				short[key] = terse(value)
			}
		}
		return short
	case []any:
		short := make([]any, len(v))
		for i, item := range v {
			short[i] = terse(item)
		}
		return short
	}
	return v
}

// each is terse for what stands below names that people chose.
func each(v any) any {
	named, ok := v.(map[string]any)
	if !ok {
		return v
	}
	short := make(map[string]any, len(named))
	for name, value := range named {
		short[name] = terse(value)
	}
	return short
}
