// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
)

// ComparedTo returns the part of the spec that a comparison depends on, as it is recorded in status.sync.
func (s *ApplicationSpec) ComparedTo() ComparedTo {
	to := ComparedTo{Destination: s.Destination, IgnoreDifferences: s.IgnoreDifferences}
	if s.MultipleSources() {
		to.Sources = s.Sources
	} else if sources := s.EffectiveSources(); len(sources) > 0 {
		to.Source = sources[0]
	}
	return to
}

// Covers tells whether a comparison was made for the present spec. It stands in for an observed generation: the
// metadata.generation of an Application rises with every write of its status and says nothing.
func (c *ComparedTo) Covers(spec *ApplicationSpec) bool {
	want := spec.ComparedTo()
	return equality.Semantic.DeepEqual(normalised(*c), normalised(want))
}

// normalised returns c without tool options that say nothing, which controllers drop when they write a spec back, and
// with Helm values in one order of keys.
func normalised(c ComparedTo) ComparedTo {
	out := *c.DeepCopy()
	normaliseSource(&out.Source)
	for i := range out.Sources {
		normaliseSource(&out.Sources[i])
	}
	return out
}

func normaliseSource(s *ApplicationSource) {
	if s.Helm != nil && equality.Semantic.DeepEqual(*s.Helm, ApplicationSourceHelm{}) {
		s.Helm = nil
	}
	if s.Kustomize != nil && equality.Semantic.DeepEqual(*s.Kustomize, ApplicationSourceKustomize{}) {
		s.Kustomize = nil
	}
	if s.Directory != nil && equality.Semantic.DeepEqual(*s.Directory, ApplicationSourceDirectory{}) {
		s.Directory = nil
	}
	if s.Plugin != nil && equality.Semantic.DeepEqual(*s.Plugin, ApplicationSourcePlugin{}) {
		s.Plugin = nil
	}
	if s.Helm != nil && s.Helm.ValuesObject != nil {
		s.Helm.ValuesObject = &runtime.RawExtension{Raw: sortedKeys(s.Helm.ValuesObject.Raw)}
	}
}

// sortedKeys writes a JSON document anew, with the keys of its objects in order. What is not JSON stays as it is.
func sortedKeys(document []byte) []byte {
	var value any
	if json.Unmarshal(document, &value) != nil {
		return document
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		return document
	}
	return sorted
}

// Overtaken tells whether the last operation was about another revision than the one the Application is synced to now:
// how it ended says nothing about that one.
func (s *ApplicationStatus) Overtaken() bool {
	if s.OperationState == nil || s.OperationState.SyncResult == nil || s.Sync.Status != SyncStatusSynced {
		return false
	}
	result := s.OperationState.SyncResult
	return result.Revision != s.Sync.Revision || !slices.Equal(result.Revisions, s.Sync.Revisions)
}
