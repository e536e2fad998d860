// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/base64"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Foresee says what would become of live if desired were applied by field
// ownership, for objects of which nothing differs but fields that are by
// themselves: the API server takes them as they are written and changes no other
// because of them. It reports false for all others; those the server has to be
// asked about.
//
// The caller has to know that the server has accepted the same of the same object
// before, and that admission changes nothing.
func Foresee(desired, live *unstructured.Unstructured, opts Options, s *Schema) (predicted *unstructured.Unstructured, ok bool) {
	if rules := rulesFor(live, opts); len(rules.pointers)+len(rules.managers)+len(rules.deletions) > 0 {
		return nil, false
	}
	m, ok := mergeOf(desired, live, opts, true, s)
	if !ok {
		return nil, false
	}
	differing := m.unexplained()
	if len(differing) == 0 {
		return nil, false
	}
	predicted = live.DeepCopy()
	// Who will own what is not foreseen, nor asked: all that differs is ours.
	predicted.SetManagedFields(nil)
	for _, p := range differing {
		value := valueAt(m.want, p)
		if !byItself(live.GroupVersionKind().GroupKind(), p) || !put(predicted.Object, p, value) {
			return nil, false
		}
		if *p[0].FieldName == "data" && isSecret(live) && !encodedAsStored(value) {
			return nil, false
		}
	}
	return predicted, true
}

// byItself tells whether a field of a kind is one that the server takes as it is
// and that nothing depends on.
func byItself(gk schema.GroupKind, p fieldpath.Path) bool {
	at := namesOf(p)
	last := len(at) - 1
	switch {
	case gk == schema.GroupKind{Kind: "Namespace"}:
		// The server sets one of the labels itself.
		return false
	case last == 2 && at[0] == "metadata" && (at[1] == "labels" || at[1] == "annotations"):
		return true
	case gk == schema.GroupKind{Kind: "ConfigMap"} || gk == schema.GroupKind{Kind: "Secret"}:
		return last == 1 && (at[0] == "data" || at[0] == "binaryData")
	case gk.Group != "apps":
		return false
	case slices.Equal(at, []string{"spec", "replicas"}):
		return true
	}
	inContainer := last >= 5 && slices.Equal(at[:4], []string{"spec", "template", "spec", "containers"})
	return inContainer && (last == 5 && at[5] == "image" || last == 7 && at[5] == "env" && at[7] == "value")
}

// namesOf returns the fields of a path, with an empty name for an item.
func namesOf(p fieldpath.Path) []string {
	names := make([]string, len(p))
	for i, pe := range p {
		if pe.FieldName != nil {
			names[i] = *pe.FieldName
		}
	}
	return names
}

// put sets a text or a number where there is one of its kind or, in a map that
// people fill, nothing.
func put(root map[string]any, p fieldpath.Path, value any) bool {
	fields, ok := valueAt(root, p[:len(p)-1]).(map[string]any)
	name := p[len(p)-1].FieldName
	if !ok || name == nil {
		return false
	}
	live, there := fields[*name]
	above := p[len(p)-2].FieldName
	absent := !there && above != nil && removable(true, *above)
	switch value.(type) {
	case string:
		_, ok = live.(string)
		ok = ok || absent
	case int64:
		_, ok = live.(int64)
	default:
		return false
	}
	fields[*name] = value
	return ok
}

// encodedAsStored tells whether a value of a Secret is written as the server keeps it.
func encodedAsStored(value any) bool {
	text, _ := value.(string)
	plain, err := base64.StdEncoding.DecodeString(text)
	return err == nil && base64.StdEncoding.EncodeToString(plain) == text
}
