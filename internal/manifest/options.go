// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// OptionSet is a list of sync options, "Name=value", compared exactly and
// case-sensitively as Argo CD does.
type OptionSet []string

// ParseOptions splits comma-separated lists of options; items are trimmed, empty
// and repeated ones dropped.
func ParseOptions(csv ...string) OptionSet {
	var set OptionSet
	for _, text := range csv {
		for _, option := range splitList(text) {
			if !slices.Contains(set, option) {
				set = append(set, option)
			}
		}
	}
	return set
}

// Has reports whether the set holds exactly this option, for example
// "Prune=false".
func (s OptionSet) Has(option string) bool { return slices.Contains(s, option) }

// Value returns the value of the named option, for example "30m" of
// "GateTimeout=30m". The last mention counts.
func (s OptionSet) Value(name string) (string, bool) {
	for _, option := range slices.Backward(s) {
		if n, value, ok := strings.Cut(option, "="); ok && n == name {
			return value, true
		}
	}
	return "", false
}

// SyncOptions returns the options that the object carries: those in Argo CD's
// annotation, then those in Wavetrain's own.
func SyncOptions(u *unstructured.Unstructured) OptionSet {
	argo, _ := annotation(u, AnnotationSyncOptions)
	own, _ := annotation(u, AnnotationWavetrainOptions)
	return ParseOptions(argo, own)
}
