// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// MalformedMetadata returns the paths of annotations and labels whose value is
// not a string, sorted. YAML turns an unquoted wave into a number, and the API
// server refuses the object.
func MalformedMetadata(u *unstructured.Unstructured) []string {
	var paths []string
	for _, field := range []string{"metadata.annotations", "metadata.labels"} {
		value := at(u.Object, field)
		if value == nil {
			continue
		}
		entries, ok := value.(map[string]any)
		if !ok {
			paths = append(paths, field)
			continue
		}
		for key, v := range entries {
			if _, ok := v.(string); !ok && v != nil {
				paths = append(paths, field+"["+key+"]")
			}
		}
	}
	slices.Sort(paths)
	return paths
}
