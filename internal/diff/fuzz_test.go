// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// FuzzPointers compares with JSON pointers that nobody would write: what an object
// is compared with itself never differs, and nothing that is given is changed.
func FuzzPointers(f *testing.F) {
	for _, seed := range []string{"/spec/replicas", "", "/", "//", "/spec/list/0/a", "/spec/list/-", "/spec/list/99999999999999999999", "/a~1b", "/a~2", "spec", "/spec/list/*"} {
		f.Add(seed, "{\"list\": [{\"a\": 1}, null, \"x\"], \"replicas\": 3}")
	}
	f.Add("/spec/0", "[[], {}]")
	f.Fuzz(func(t *testing.T, pointer, spec string) {
		var value any
		if json.Unmarshal([]byte(spec), &value) != nil {
			return
		}
		obj := func() *unstructured.Unstructured {
			return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "a/v1", "kind": "B", "metadata": map[string]any{"name": "x"}, "spec": value}}
		}
		before, err := json.Marshal(obj().Object)
		if err != nil {
			t.Fatal(err)
		}
		options := Options{Ignore: []v1alpha1.ResourceIgnoreDifferences{{Group: "*", Kind: "*", JSONPointers: []string{pointer}}}}
		if changes := Compare(obj(), obj(), obj(), options); len(changes) > 0 {
			t.Errorf("%q: an object differs from itself: %v", pointer, changes)
		}
		if after, err := json.Marshal(obj().Object); err != nil || string(after) != string(before) {
			t.Errorf("%q: the object was changed to %s, %v", pointer, after, err)
		}
	})
}
