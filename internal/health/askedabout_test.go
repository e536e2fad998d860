// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestAskedAbout(t *testing.T) {
	for kind, want := range map[string][]schema.GroupKind{
		"Ingress":               {IngressClasses()},
		"PersistentVolumeClaim": {StorageClasses()},
		"StatefulSet":           {StorageClasses()},
		"Deployment":            nil,
	} {
		if got := AskedAbout(kind); !slices.Equal(got, want) {
			t.Errorf("AskedAbout(%s) = %v, want %v", kind, got, want)
		}
	}
}
