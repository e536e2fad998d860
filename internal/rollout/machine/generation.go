// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/plan"
)

// TrustsAnyGeneration reports whether what the step's object says of itself counts
// whatever generation it is about.
func (s Switches) TrustsAnyGeneration(step *plan.Step) bool {
	return s.AnyGeneration || has(step, anyGeneration)
}

// OfThisGeneration returns the object as if all that it reports were about its
// present generation.
func OfThisGeneration(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u == nil || processed(u) == Unreported {
		return u
	}
	u = u.DeepCopy()
	status, ok := u.Object["status"].(map[string]any)
	if !ok {
		return u
	}
	generation := u.GetGeneration()
	switch status["observedGeneration"].(type) {
	case nil:
	case string:
		status["observedGeneration"] = strconv.FormatInt(generation, 10)
	default:
		status["observedGeneration"] = generation
	}
	if synced, ok := status["syncedResourceVersion"].(string); ok {
		_, rest, _ := strings.Cut(synced, "-")
		status["syncedResourceVersion"] = strconv.FormatInt(generation, 10) + "-" + rest
	}
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if fields, ok := c.(map[string]any); ok && fields["observedGeneration"] != nil {
			fields["observedGeneration"] = generation
		}
	}
	return u
}
