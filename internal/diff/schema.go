// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Schema says how the fields of the kinds of one group version are merged: which
// lists are maps, sets or wholes, and which fields there are.
type Schema struct {
	types managedfields.TypeConverter
}

// ReadSchema reads what an API server publishes about a group version in the form
// of OpenAPI v3.
func ReadSchema(document []byte) (*Schema, error) {
	var published struct {
		Components struct {
			Schemas map[string]*spec.Schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(document, &published); err != nil {
		return nil, fmt.Errorf("read an OpenAPI document: %w", err)
	}
	types, err := managedfields.NewTypeConverter(published.Components.Schemas, false)
	if err != nil {
		return nil, fmt.Errorf("read an OpenAPI document: %w", err)
	}
	return &Schema{types: types}, nil
}

// typed reads an object by the schema. An object that does not fit it, with an
// unknown field or two items of one key, is an error.
func (s *Schema) typed(obj *unstructured.Unstructured) (*typed.TypedValue, error) {
	return s.types.ObjectToTyped(obj)
}
