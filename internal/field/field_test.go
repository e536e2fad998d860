// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package field_test

import (
	"slices"
	"testing"

	"github.com/wavetrain/wavetrain/internal/field"
)

func TestPaths(t *testing.T) {
	object := map[string]any{
		"spec": map[string]any{
			"name":  "a",
			"rules": []any{map[string]any{"backend": "x"}, "no map", map[string]any{"backend": "y"}},
		},
	}
	if got := field.Text(object, "spec.name"); got != "a" {
		t.Errorf("Text = %q, want a", got)
	}
	for _, path := range []string{"spec.name.deeper", "spec.absent", "absent.name"} {
		if got := field.At(object, path); got != nil {
			t.Errorf("At(%s) = %v, want nothing", path, got)
		}
	}
	if got := field.Map(object, "spec.rules"); got != nil {
		t.Errorf("Map of a list = %v, want nothing", got)
	}
	var seen []string
	field.Each(object, "spec.rules[*].backend", func(path string, value any) {
		seen = append(seen, path+"="+value.(string))
	})
	if want := []string{"spec.rules[0].backend=x", "spec.rules[2].backend=y"}; !slices.Equal(seen, want) {
		t.Errorf("Each saw %q, want %q", seen, want)
	}
	if got := field.Join("", field.Index("list", 2)); got != "list[2]" {
		t.Errorf("Join = %q, want list[2]", got)
	}
}
