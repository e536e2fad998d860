// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// KnownType is a field of a custom resource whose values have a type that the
// cluster's schema does not tell: two values are equal if they are as values of
// that type.
type KnownType struct {
	// Group and Kind may be patterns.
	Group string `json:"group,omitempty"`
	Kind  string `json:"kind"`
	// Field is a path, "spec.template.spec"; what it names inside of lists is meant
	// in each item.
	Field string `json:"field"`
	// Type is "core/Quantity", "meta/v1/Duration" or "core/v1/" and the name of a
	// type of the core API.
	Type string `json:"type"`
}

// CheckKnownType says why a type is not known, empty if it is.
func CheckKnownType(name string) string {
	if typeNamed(name) == nil {
		return fmt.Sprintf("type %q is not known: use core/Quantity, meta/v1/Duration or core/v1/ and a type of the core API, for example core/v1/PodSpec", name)
	}
	return ""
}

// typeNamed finds a type, nil if there is none of that name.
func typeNamed(name string) reflect.Type {
	switch name {
	case "core/Quantity":
		return reflect.TypeFor[resource.Quantity]()
	case "meta/v1/Duration":
		return reflect.TypeFor[metav1.Duration]()
	}
	short, ok := strings.CutPrefix(name, "core/v1/")
	if !ok {
		return nil
	}
	seen := map[reflect.Type]bool{}
	for _, kind := range coreKinds() {
		if found := typeWithin(kind, short, seen); found != nil {
			return found
		}
	}
	return nil
}

// coreKinds are kinds whose fields have all the types of the core API.
func coreKinds() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[corev1.Pod](), reflect.TypeFor[corev1.PodTemplate](), reflect.TypeFor[corev1.ReplicationController](),
		reflect.TypeFor[corev1.Service](), reflect.TypeFor[corev1.Endpoints](), reflect.TypeFor[corev1.PersistentVolume](), //nolint:staticcheck // people still have them
		reflect.TypeFor[corev1.PersistentVolumeClaim](), reflect.TypeFor[corev1.Node](), reflect.TypeFor[corev1.Namespace](),
		reflect.TypeFor[corev1.Secret](), reflect.TypeFor[corev1.ConfigMap](), reflect.TypeFor[corev1.ServiceAccount](),
		reflect.TypeFor[corev1.LimitRange](), reflect.TypeFor[corev1.ResourceQuota](), reflect.TypeFor[corev1.Event](),
	}
}

// typeWithin looks for a type of the core API in the fields of another one.
func typeWithin(t reflect.Type, name string, seen map[reflect.Type]bool) reflect.Type {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return typeWithin(t.Elem(), name, seen)
	case reflect.Struct:
	default:
		return nil
	}
	if seen[t] || t.PkgPath() != reflect.TypeFor[corev1.Pod]().PkgPath() {
		return nil
	}
	seen[t] = true
	if t.Name() == name {
		return t
	}
	for field := range t.Fields() {
		if found := typeWithin(field.Type, name, seen); found != nil {
			return found
		}
	}
	return nil
}

// builtIn are fields whose types everybody knows.
func builtIn() []KnownType {
	return []KnownType{{Group: "argoproj.io", Kind: "Rollout", Field: "spec.template.spec", Type: "core/v1/PodSpec"}}
}

// rewrite writes the fields of known types in their canonical form.
func rewrite(u *unstructured.Unstructured, types []KnownType) {
	gk := u.GroupVersionKind().GroupKind()
	for _, list := range [][]KnownType{builtIn(), types} {
		for _, k := range list {
			if !glob(k.Group, gk.Group) || !glob(k.Kind, gk.Kind) {
				continue
			}
			if t := typeNamed(k.Type); t != nil {
				rewriteAt(u.Object, strings.Split(k.Field, "."), t)
			}
		}
	}
}

func rewriteAt(value any, field []string, t reflect.Type) {
	switch v := value.(type) {
	case map[string]any:
		below, ok := v[field[0]]
		switch {
		case !ok:
		case len(field) > 1:
			rewriteAt(below, field[1:], t)
		default:
			v[field[0]] = canonical(below, t)
		}
	case []any:
		for _, item := range v {
			rewriteAt(item, field, t)
		}
	}
}

// canonical reads a value as one of a type and writes it again. A value that is
// none, or has fields that the type does not know, stays as it is.
func canonical(value any, t reflect.Type) any {
	if list, ok := value.([]any); ok {
		out := make([]any, len(list))
		for i, item := range list {
			out[i] = canonical(item, t)
		}
		return out
	}
	data, err := json.Marshal(value)
	if err != nil {
		return value
	}
	typed := reflect.New(t)
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	if strict.Decode(typed.Interface()) != nil {
		return value
	}
	if data, err = json.Marshal(typed.Interface()); err != nil {
		return value
	}
	// Read as part of an object, numbers are what they are in objects.
	holder := &unstructured.Unstructured{}
	if holder.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"Value","value":`+string(data)+`}`)) != nil {
		return value
	}
	return holder.Object["value"]
}
