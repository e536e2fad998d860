// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// CodeInvalidSchema is the code of the finding that an object is not as the
// definition of its kind wants it.
const CodeInvalidSchema = "invalid-schema"

// maxFaults bounds how many faults of one object are told.
const maxFaults = 5

// CheckSchemas checks objects whose kind the plan defines or changes against that
// definition: the API server cannot judge them before. What needs the server (rules
// in CEL, webhooks) is left to it. Tolerant leaves unknown fields out of it, as
// Validate=false does.
func CheckSchemas(p *Plan, tolerant bool) []diag.Diagnostic {
	definitions := map[schema.GroupKind]*unstructured.Unstructured{}
	for step := range p.writes() {
		if gk, ok := manifest.DefinesKind(step.Object.Unstructured); ok && step.Action != None {
			definitions[gk] = step.Object.Unstructured
		}
	}
	if len(definitions) == 0 {
		return nil
	}
	var findings []diag.Diagnostic
	var objects []*unstructured.Unstructured
	for step := range p.writes() {
		objects = append(objects, step.Object.Unstructured)
	}
	schemas := NewSchemas(definitions, objects)
	for step := range p.writes() {
		crd, ok := definitions[step.Key.GroupKind()]
		if !ok {
			continue
		}
		lenient := tolerant || manifest.SyncOptions(step.Object.Unstructured).Has("Validate=false")
		for _, text := range texts(schemas.Faults(step.Object.Unstructured), lenient) {
			findings = append(findings, diag.Diagnostic{
				Code: CodeInvalidSchema, Severity: diag.Error, Subject: step.Key, At: step.Object.Provenance,
				Message: fmt.Sprintf("%s in %s: %s", step.Key.Short(), where(step.Object.Provenance), text),
				Hint:    "correct it as the CustomResourceDefinition " + crd.GetName() + " of this plan says",
			})
		}
	}
	return findings
}

// texts writes faults out, the first ones of many.
func texts(faults []Fault, lenient bool) []string {
	var out []string
	for _, f := range faults {
		if !f.Unknown || !lenient {
			out = append(out, f.Text)
		}
	}
	slices.Sort(out)
	if over := len(out) - maxFaults; over > 0 {
		out = append(out[:maxFaults], fmt.Sprintf("and %d more faults", over))
	}
	return out
}

// Schemas judges objects by the definitions of their kinds.
type Schemas struct {
	definitions map[schema.GroupKind]*unstructured.Unstructured
	// values are the objects of each kind that are to be judged.
	values map[schema.GroupVersionKind][]any
	read   map[schema.GroupVersionKind]*spec.Schema
}

// NewSchemas makes Schemas of CustomResourceDefinitions by the kinds that they define.
// It judges the given objects: of definitions, which may be large, no more is read
// than these have.
func NewSchemas(definitions map[schema.GroupKind]*unstructured.Unstructured, objects []*unstructured.Unstructured) Schemas {
	s := Schemas{definitions: definitions, values: map[schema.GroupVersionKind][]any{}, read: map[schema.GroupVersionKind]*spec.Schema{}}
	if len(definitions) == 0 {
		return s
	}
	for _, o := range objects {
		gvk := o.GroupVersionKind()
		if _, ok := definitions[gvk.GroupKind()]; ok {
			s.values[gvk] = append(s.values[gvk], o.Object)
		}
	}
	return s
}

// Fault is what a definition does not allow about an object.
type Fault struct {
	// Field is the path, as far as it is known.
	Field string
	Text  string
	// Unknown says that the definition knows no such field.
	Unknown bool
}

// Faults returns what the definition of its kind does not allow about an object,
// ordered; nothing if there is none.
func (s Schemas) Faults(obj *unstructured.Unstructured) []Fault {
	gvk := obj.GroupVersionKind()
	crd, ok := s.definitions[gvk.GroupKind()]
	if !ok {
		return nil
	}
	read, known := s.read[gvk]
	if !known {
		read = schemaOf(crd, gvk.Version, s.values[gvk])
		s.read[gvk] = read
	}
	return faults(obj, read)
}

// writes visits the steps that write an object.
func (p *Plan) writes() func(yield func(*Step) bool) {
	return func(yield func(*Step) bool) {
		for gi := range p.Groups {
			for si := range p.Groups[gi].Steps {
				s := &p.Groups[gi].Steps[si]
				if s.Object != nil && !s.Action.deletes() && !yield(s) {
					return
				}
			}
		}
	}
}

// faults says what about an object its schema does not allow.
func faults(obj *unstructured.Unstructured, s *spec.Schema) []Fault {
	if s == nil {
		return nil
	}
	value := runtime.DeepCopyJSON(obj.Object)
	for _, own := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(value, own)
	}
	var unknown []string
	complete(value, s, "", &unknown)
	var out []Fault
	for _, path := range unknown {
		out = append(out, Fault{Field: path, Text: fmt.Sprintf("unknown field %q", path), Unknown: true})
	}
	for _, err := range validate.NewSchemaValidator(without(s, "apiVersion", "kind", "metadata", "status"), nil, "", strfmt.Default).Validate(value).Errors {
		fault := Fault{Text: strings.ReplaceAll(err.Error(), " in body", "")}
		if about, ok := errors.AsType[*apierrors.Validation](err); ok {
			fault.Field = strings.TrimPrefix(about.Name, ".")
		}
		out = append(out, fault)
	}
	slices.SortFunc(out, func(a, b Fault) int { return strings.Compare(a.Text, b.Text) })
	return out
}

// without returns the schema without some of its properties: those every object has,
// and the status, which is not written.
func without(s *spec.Schema, names ...string) *spec.Schema {
	c := *s
	c.Required = slices.DeleteFunc(slices.Clone(s.Required), func(name string) bool { return slices.Contains(names, name) })
	c.Properties = map[string]spec.Schema{}
	for name, property := range s.Properties {
		if !slices.Contains(names, name) {
			c.Properties[name] = property
		}
	}
	return &c
}

// complete fills defaults in, as the API server does before it validates, and notes
// the paths of fields that the schema does not know.
func complete(v any, s *spec.Schema, path string, unknown *[]string) {
	switch v := v.(type) {
	case map[string]any:
		for name, property := range s.Properties {
			if current, given := v[name]; property.Default != nil && (!given || current == nil && !property.Nullable) {
				v[name] = runtime.DeepCopyJSONValue(property.Default)
			}
		}
		for name, field := range v {
			at := strings.TrimPrefix(path+"."+name, ".")
			switch property, known := s.Properties[name]; {
			case known:
				complete(field, &property, at, unknown)
			case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
				complete(field, s.AdditionalProperties.Schema, at, unknown)
			case !open(s, name):
				*unknown = append(*unknown, at)
			}
		}
	case []any:
		if s.Items == nil || s.Items.Schema == nil {
			return
		}
		for i, item := range v {
			complete(item, s.Items.Schema, fmt.Sprintf("%s[%d]", path, i), unknown)
		}
	}
}

// open reports whether an object of the schema may have a field that it does not
// name.
func open(s *spec.Schema, field string) bool {
	preserves, _ := s.Extensions.GetBool("x-kubernetes-preserve-unknown-fields")
	embedded, _ := s.Extensions.GetBool("x-kubernetes-embedded-resource")
	return preserves || s.AdditionalProperties != nil && s.AdditionalProperties.Allows ||
		embedded && (field == "apiVersion" || field == "kind" || field == "metadata")
}
