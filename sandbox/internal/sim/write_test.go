// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestSetPath(t *testing.T) {
	object := map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{"a.b/c": "old"}},
		"spec":     map[string]any{"replicas": int64(1), "list": []any{"x", map[string]any{"image": "i:1"}}},
	}
	cases := map[string]struct {
		reason, path string
		value        any
		look         []string
		want         any
		fails        bool
	}{
		"Pointer":        {reason: "a JSON pointer", path: "/spec/replicas", value: int64(3), look: []string{"spec", "replicas"}, want: int64(3)},
		"Dots":           {reason: "the same with dots", path: "spec.replicas", value: int64(3), look: []string{"spec", "replicas"}, want: int64(3)},
		"Escaped":        {reason: "a slash in a key is escaped", path: "/metadata/annotations/a.b~1c", value: "new", look: []string{"metadata", "annotations", "a.b/c"}, want: "new"},
		"Missing":        {reason: "what is above is made", path: "/status/a/b", value: true, look: []string{"status", "a", "b"}, want: true},
		"Element":        {reason: "an element of a list", path: "/spec/list/1/image", value: "i:2", look: []string{"spec", "list"}, want: []any{"x", map[string]any{"image": "i:2"}}},
		"Append":         {reason: "after the last", path: "/spec/list/-", value: "y", look: []string{"spec", "list"}, want: []any{"x", map[string]any{"image": "i:1"}, "y"}},
		"Remove":         {reason: "null removes", path: "/spec/replicas", look: []string{"spec", "replicas"}},
		"RemoveElement":  {reason: "also from a list", path: "/spec/list/0", look: []string{"spec", "list"}, want: []any{map[string]any{"image": "i:1"}}},
		"BeyondTheEnd":   {reason: "there is no such element", path: "/spec/list/7", value: "y", fails: true},
		"BelowAScalar":   {reason: "a number has no fields", path: "/spec/replicas/x", value: "y", fails: true},
		"NoIndexOfAList": {reason: "a list has no names", path: "/spec/list/name", value: "y", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := setPath(runtime.DeepCopyJSON(object), pathParts(tc.path), tc.value)
			if (err != nil) != tc.fails {
				t.Fatalf("%s: error %v, want one: %v", tc.reason, err, tc.fails)
			}
			if tc.fails {
				return
			}
			for _, key := range tc.look {
				got = got.(map[string]any)[key]
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}
