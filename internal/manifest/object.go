// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Key identifies an object independently of its API version.
type Key struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// KeyOf returns the key of obj as it is written: a missing namespace stays
// empty.
func KeyOf(obj *unstructured.Unstructured) Key {
	gvk := obj.GroupVersionKind()
	return Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// GroupKind returns the key's API group and kind.
func (k Key) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: k.Group, Kind: k.Kind}
}

// String returns "group/Kind/namespace/name"; an empty group or namespace is
// left out. It is unique among keys of one cluster whose kinds differ in more
// than their group only if the group is kept, so it always is.
func (k Key) String() string {
	parts := make([]string, 0, 4)
	for _, p := range []string{k.Group, k.Kind, k.Namespace, k.Name} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "/")
}

// Short returns "Kind/name", the form used in messages for people.
func (k Key) Short() string { return k.Kind + "/" + k.Name }

// Compare orders keys by group, kind, namespace and name.
func (k Key) Compare(o Key) int {
	return cmp.Or(
		cmp.Compare(k.Group, o.Group),
		cmp.Compare(k.Kind, o.Kind),
		cmp.Compare(k.Namespace, o.Namespace),
		cmp.Compare(k.Name, o.Name),
	)
}

// Provenance says where an object was written.
type Provenance struct {
	// File is the path of the file or template, relative to the source's root.
	File string `json:"file,omitempty"`
	// Line is the 1-based line in File at which the object begins; zero when
	// the renderer cannot tell (templates).
	Line int `json:"line,omitempty"`
	// Chart is the slash-separated path of the chart that rendered the object,
	// from the outermost chart ("assistant-service") to the subchart
	// ("assistant-service/redis"); empty outside Helm.
	Chart string `json:"chart,omitempty"`
	// Source is the index of the source in a multi-source application.
	Source int `json:"source,omitempty"`
}

// Object is a rendered object together with its provenance. The embedded
// object must not be changed by rooms that receive it.
type Object struct {
	*unstructured.Unstructured
	Provenance Provenance
}

// Key returns the object's key.
func (o Object) Key() Key { return KeyOf(o.Unstructured) }
