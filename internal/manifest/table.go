// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/field"
)

// Mention is a row of a table of references that people add to what this program
// knows by itself: where objects of one kind name objects of another.
type Mention struct {
	// Of is the kind that has the field, To the kind that it names.
	Of, To schema.GroupKind
	// Path of the field; "[*]" after a list stands for each of its items. Its value
	// is a name, or an object with name and maybe kind, group, namespace and key.
	Path string
	// Cluster says that what is named belongs to no namespace, Optional that the
	// object works without it, Makes that a controller makes it from the object.
	Cluster, Optional, Makes bool
}

// ParseKind reads "Kind", "group/Kind" or "Kind.group". Without a group it is one of
// Kubernetes' own.
func ParseKind(text string) (schema.GroupKind, error) {
	gk := schema.GroupKind{}
	if group, kind, ok := strings.Cut(text, "/"); ok {
		gk.Group, gk.Kind = group, kind
	} else {
		gk.Kind, gk.Group, _ = strings.Cut(text, ".")
	}
	if gk.Kind == "" || strings.ContainsAny(text, " *") || strings.Contains(gk.Kind, "/") {
		return gk, fmt.Errorf("%q is no kind: write group/Kind", text)
	}
	if gk.Group == "" {
		group, ok := ownGroup(gk.Kind)
		if !ok {
			return gk, fmt.Errorf("kind %q is not Kubernetes' own, so its group is needed: write group/%s", text, text)
		}
		gk.Group = group
	}
	return gk, nil
}

// Table knows references and products beyond the built-in ones.
type Table []Mention

// References returns what an object mentions, by the built-in table and by this one.
func (t Table) References(u *unstructured.Unstructured) []Reference {
	list := References(u)
	t.each(u, false, func(ref Reference) {
		if !slices.ContainsFunc(list, func(known Reference) bool { return known.Target == ref.Target && known.Field == ref.Field }) {
			list = append(list, ref)
		}
	})
	return list
}

// Products returns what controllers make from an object.
func (t Table) Products(u *unstructured.Unstructured) []Product {
	list := Products(u)
	t.each(u, true, func(ref Reference) {
		if !slices.ContainsFunc(list, func(known Product) bool { return known.Object == ref.Target }) {
			list = append(list, Product{Object: ref.Target})
		}
	})
	return list
}

// Targets are the objects that a row finds in an object of its kind.
func (m Mention) Targets(u *unstructured.Unstructured) []Key {
	var keys []Key
	Table{m}.each(u, m.Makes, func(ref Reference) { keys = append(keys, ref.Target) })
	return keys
}

func (t Table) each(u *unstructured.Unstructured, makes bool, visit func(Reference)) {
	gk := u.GroupVersionKind().GroupKind()
	r := referrer{namespace: u.GetNamespace()}
	for _, m := range t {
		if m.Of != gk || m.Makes != makes {
			continue
		}
		l := link{path: m.Path, group: m.To.Group, kind: m.To.Kind, cluster: m.Cluster, optional: m.Optional}
		field.Each(u.Object, m.Path, func(path string, value any) { r.follow(l, path, value) })
	}
	for _, ref := range r.found {
		ref.Declared = true
		visit(ref)
	}
}
