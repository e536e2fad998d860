// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import "k8s.io/apimachinery/pkg/runtime/schema"

// StorageClasses is the kind that Context.StorageClass looks up.
func StorageClasses() schema.GroupKind {
	return schema.GroupKind{Group: "storage.k8s.io", Kind: "StorageClass"}
}

// IngressClasses is the kind that Context.IngressClass looks up.
func IngressClasses() schema.GroupKind {
	return schema.GroupKind{Group: "networking.k8s.io", Kind: "IngressClass"}
}

// AskedAbout returns the kinds of the other objects that judging an object of the
// given kind asks about: whoever fills in a Context must know them.
func AskedAbout(kind string) []schema.GroupKind {
	switch kind {
	case "PersistentVolumeClaim", "StatefulSet":
		return []schema.GroupKind{StorageClasses()}
	case "Ingress":
		return []schema.GroupKind{IngressClasses()}
	}
	return nil
}
