// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"
	"testing"
)

func TestPathsOfTheAnnotationAreResolved(t *testing.T) {
	for annotation, want := range map[string][]string{
		"":                            nil,
		" ; ":                         nil,
		".":                           {"apps/shop"},
		"/shared":                     {"apps/shop", "shared"},
		"../common;/env/*.yaml; deep": {"apps/common", "apps/shop", "apps/shop/deep", "env/*.yaml"},
		"/shared;/shared/":            {"apps/shop", "shared"},
	} {
		got, err := relevant(annotation, "apps/shop")
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", annotation, got, err)
		}
	}
	if _, err := relevant("../../../etc", "apps/shop"); err == nil {
		t.Error("a path leaves the repository")
	}
}
