// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package jq_test

import (
	"encoding/json"
	"testing"

	"github.com/wavetrain/wavetrain/internal/jq"
)

// FuzzDelete deletes by expressions that nobody would write: an object or an error
// comes back in time, and the object given stays as it is.
func FuzzDelete(f *testing.F) {
	for _, seed := range []string{
		".spec.replicas", ".spec.containers[] | select(.name == \"a\")", ".. | .a?", "paths", "range(1e12)", "[limit(1e9; repeat(1))]",
		"def f: f; f", ".[", "env.HOME", "input", "$__loc__", ".a) | (.b", "\"\\(1;2)\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		d, err := jq.Delete(expression)
		if err != nil {
			return
		}
		obj := map[string]any{"spec": map[string]any{"replicas": int64(3), "containers": []any{map[string]any{"name": "a"}, nil, 1.5, "x"}}}
		before, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := d.From(obj); err == nil && got == nil {
			t.Error("neither an object nor an error")
		}
		if after, err := json.Marshal(obj); err != nil || string(after) != string(before) {
			t.Errorf("the object given was changed: %s, %v", after, err)
		}
	})
}
