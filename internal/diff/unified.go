// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"

	textdiff "github.com/rogpeppe/go-internal/diff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Unified returns the difference between two states of an object as unified diff
// of their YAML, without status, what the API server writes, and the values of
// Secrets. Either state may be nil. No difference is an empty text.
func Unified(live, predicted *unstructured.Unstructured) (string, error) {
	if live != nil {
		live = Options{}.bare(live)
	}
	if predicted != nil {
		predicted = Options{}.bare(predicted)
	}
	name := ""
	for _, u := range []*unstructured.Unstructured{live, predicted} {
		if u != nil {
			name = u.GetKind() + "/" + u.GetName()
		}
	}
	live, predicted = RedactPair(live, predicted)
	old, err := text(live)
	if err != nil {
		return "", fmt.Errorf("write live %s as YAML: %w", name, err)
	}
	now, err := text(predicted)
	if err != nil {
		return "", fmt.Errorf("write desired %s as YAML: %w", name, err)
	}
	return string(textdiff.Diff("live/"+name, old, "desired/"+name, now)), nil
}

func text(u *unstructured.Unstructured) ([]byte, error) {
	if u == nil {
		return nil, nil
	}
	return yaml.Marshal(u.Object)
}
