// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package saved

import (
	"maps"

	"github.com/wavetrain/wavetrain/internal/field"
)

// SpecOf gives the fields of an Application that have an influence on what a sync
// does a digest each.
func SpecOf(spec map[string]any, annotations map[string]string) map[string]string {
	fields := map[string]string{}
	for name, value := range withoutAutomation(spec) {
		switch name {
		case "info", "revisionHistoryLimit":
			// They change nothing of what is done.
		default:
			Fields(value, "spec."+name, fields)
		}
	}
	for name, value := range annotations {
		fields["metadata.annotations["+name+"]"] = digest(value)
	}
	return fields
}

// withoutAutomation leaves out what of a sync policy decides when something is done,
// not what.
func withoutAutomation(spec map[string]any) map[string]any {
	policy := field.Map(spec, "syncPolicy")
	if policy == nil {
		return spec
	}
	spec, policy = maps.Clone(spec), maps.Clone(policy)
	delete(policy, "automated")
	delete(policy, "retry")
	spec["syncPolicy"] = policy
	return spec
}
