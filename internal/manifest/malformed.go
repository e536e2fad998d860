// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/field"
)

// MalformedMetadata returns the paths of annotations and labels whose value is
// not a string, sorted. YAML turns an unquoted wave into a number, and the API
// server refuses the object.
func MalformedMetadata(u *unstructured.Unstructured) []string {
	var paths []string
	for _, path := range []string{"metadata.annotations", "metadata.labels"} {
		value := field.At(u.Object, path)
		if value == nil {
			continue
		}
		entries, ok := value.(map[string]any)
		if !ok {
			paths = append(paths, path)
			continue
		}
		for key, v := range entries {
			if _, ok := v.(string); !ok && v != nil {
				paths = append(paths, path+"["+key+"]")
			}
		}
	}
	slices.Sort(paths)
	return paths
}
