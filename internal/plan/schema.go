// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	read := map[schema.GroupVersionKind]*spec.Schema{}
	for step := range p.writes() {
		crd, ok := definitions[step.Key.GroupKind()]
		if !ok {
			continue
		}
		gvk := step.Key.GroupKind().WithVersion(step.Version)
		s, known := read[gvk]
		if !known {
			s = schemaOf(crd, step.Version)
			read[gvk] = s
		}
		lenient := tolerant || manifest.SyncOptions(step.Object.Unstructured).Has("Validate=false")
		for _, fault := range faults(step.Object.Unstructured, s, lenient) {
			findings = append(findings, diag.Diagnostic{
				Code: CodeInvalidSchema, Severity: diag.Error, Subject: step.Key, At: step.Object.Provenance,
				Message: fmt.Sprintf("%s in %s: %s", step.Key.Short(), where(step.Object.Provenance), fault),
				Hint:    "correct it as the CustomResourceDefinition " + crd.GetName() + " of this plan says",
			})
		}
	}
	return findings
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

// schemaOf reads the schema of a version from a definition; nil if it has none that
// can be read, which is for the API server to say.
func schemaOf(crd *unstructured.Unstructured, version string) *spec.Schema {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		fields, ok := v.(map[string]any)
		if !ok || fields["name"] != version {
			continue
		}
		raw, _, _ := unstructured.NestedMap(fields, "schema", "openAPIV3Schema")
		data, err := json.Marshal(raw)
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

// faults says what about an object its schema does not allow.
func faults(obj *unstructured.Unstructured, s *spec.Schema, lenient bool) []string {
	if s == nil {
		return nil
	}
	value := runtime.DeepCopyJSON(obj.Object)
	for _, own := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(value, own)
	}
	var unknown []string
	complete(value, s, "", &unknown)
	var out []string
	if !lenient {
		for _, path := range unknown {
			out = append(out, fmt.Sprintf("unknown field %q", path))
		}
	}
	for _, err := range validate.NewSchemaValidator(without(s, "apiVersion", "kind", "metadata", "status"), nil, "", strfmt.Default).Validate(value).Errors {
		out = append(out, strings.ReplaceAll(err.Error(), " in body", ""))
	}
	slices.Sort(out)
	if over := len(out) - maxFaults; over > 0 {
		out = append(out[:maxFaults], fmt.Sprintf("and %d more faults", over))
	}
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
