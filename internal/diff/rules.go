// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// Rules say what comparisons leave out or take for equal, as far as that does not
// depend on the object.
type Rules struct {
	// Ignore are rules of the application and of the installation.
	Ignore []v1alpha1.ResourceIgnoreDifferences `json:"ignore,omitempty"`
	// KnownTypes are fields of custom resources.
	KnownTypes []KnownType `json:"knownTypes,omitempty"`
	// Status says whose status is left out.
	Status StatusField `json:"status,omitempty"`
	// Mutations keeps what admission changes in fields that Git does not set.
	Mutations bool `json:"mutations,omitempty"`
}

// StatusField says of which kinds the status that Git may set is neither compared
// nor applied.
type StatusField string

// Values of StatusField.
const (
	// IgnoredForAll is the default.
	IgnoredForAll StatusField = ""
	// IgnoredForDefinitions leaves it out of CustomResourceDefinitions only.
	IgnoredForDefinitions StatusField = "crd"
	// IgnoredForNone takes it like any other field.
	IgnoredForNone StatusField = "none"
)

// Counts tells whether the status of a kind is compared and applied.
func (f StatusField) Counts(gk schema.GroupKind) bool {
	switch f {
	case IgnoredForNone:
		return true
	case IgnoredForDefinitions:
		return gk != schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	default:
		return false
	}
}
