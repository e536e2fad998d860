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
// of their YAML, as Texts writes them. No difference is an empty text.
func Unified(live, predicted *unstructured.Unstructured) (string, error) {
	old, now, err := Texts(live, predicted)
	if err != nil {
		return "", err
	}
	name := nameOf(live, predicted)
	return string(textdiff.Diff("live/"+name, old, "desired/"+name, now)), nil
}

// Texts returns two states of an object as YAML, without status, what the API
// server writes, and the values of Secrets. Either state may be nil; its text is
// empty.
func Texts(live, predicted *unstructured.Unstructured) (old, now []byte, err error) {
	if live != nil {
		live = Options{}.bare(live)
	}
	if predicted != nil {
		predicted = Options{}.bare(predicted)
	}
	name := nameOf(live, predicted)
	live, predicted = RedactPair(live, predicted)
	if old, err = text(live); err != nil {
		return nil, nil, fmt.Errorf("write live %s as YAML: %w", name, err)
	}
	if now, err = text(predicted); err != nil {
		return nil, nil, fmt.Errorf("write desired %s as YAML: %w", name, err)
	}
	return old, now, nil
}

func nameOf(states ...*unstructured.Unstructured) string {
	name := ""
	for _, u := range states {
		if u != nil {
			name = u.GetKind() + "/" + u.GetName()
		}
	}
	return name
}

func text(u *unstructured.Unstructured) ([]byte, error) {
	if u == nil {
		return nil, nil
	}
	return yaml.Marshal(u.Object)
}
