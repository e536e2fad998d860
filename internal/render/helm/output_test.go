// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import "testing"

func TestDocumentsArePartedAsHelmPartsThem(t *testing.T) {
	for text, want := range map[string]string{
		"a: b\n---\nc: d\n":         "a: b\n---\nc: d\n",
		"--- a: b\n---\tc: d":       "---\na: b\n---\nc: d",
		"a: |\n  --- b\n---   \n":   "a: |\n  --- b\n---   \n",
		"a: b\n--- # why\nc: d\n":   "a: b\n---\n# why\nc: d\n",
		"---a: b\n----\n":           "---\na: b\n---\n-\n",
		"--- ---\na: b\n--- c: d\n": "---\n---\na: b\n---\nc: d\n",
		"":                          "",
		"---":                       "---",
	} {
		if got := parted(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestValuesThatTemplatesExecuteMayWantTheListOfVersions(t *testing.T) {
	for name, tc := range map[string]struct {
		values map[string]any
		want   bool
	}{
		"List":       {map[string]any{"a": []any{"{{ .Capabilities.APIVersions | toJson }}"}}, true},
		"Has":        {map[string]any{"a": `{{ .Capabilities.APIVersions.Has "v1" }}`}, false},
		"NoTemplate": {map[string]any{"a": "APIVersions are many"}, false},
		"Key":        {map[string]any{"a": map[string]any{"{{ .Capabilities.APIVersions }}": 1}}, true},
		"End":        {map[string]any{"a": "{{ $x := .Capabilities.APIVersions"}, true},
	} {
		if got := valuesWantList(tc.values); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
