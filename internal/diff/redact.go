// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What stands in place of a Secret's value. The second form marks the new value
// where an old one is shown beside it and differs.
const (
	Hidden        = "<hidden>"
	HiddenChanged = "<hidden, changed>"
)

// Redact returns u with the values of a Secret hidden; other objects are
// returned as they are.
func Redact(u *unstructured.Unstructured) *unstructured.Unstructured {
	out, _ := RedactPair(u, nil)
	return out
}

// RedactPair hides the values of a Secret in two of its states. Values that are
// equal in both read the same, others do not.
func RedactPair(before, after *unstructured.Unstructured) (b, a *unstructured.Unstructured) {
	if !isSecret(before) && !isSecret(after) {
		return before, after
	}
	b, a = hide(before), hide(after)
	if before == nil || after == nil {
		return b, a
	}
	was, will := Normalize(before), Normalize(after)
	old, _ := was.Object["data"].(map[string]any)
	data, _ := will.Object["data"].(map[string]any)
	shown, _ := a.Object["data"].(map[string]any)
	for k := range shown {
		if v, ok := old[k]; ok && !same(v, data[k]) {
			shown[k] = HiddenChanged
		}
	}
	return b, a
}

// hide returns a Secret with stringData folded into data and every value
// replaced.
func hide(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u == nil {
		return nil
	}
	c := u.DeepCopy()
	foldStringData(c.Object)
	for _, field := range []string{"data", "stringData"} {
		switch data := c.Object[field].(type) {
		case nil:
		case map[string]any:
			for k := range data {
				data[k] = Hidden
			}
		default:
			c.Object[field] = Hidden
		}
	}
	if annotations := c.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		annotations[corev1.LastAppliedConfigAnnotation] = Hidden
		c.SetAnnotations(annotations)
	}
	return c
}

// redactChanges hides the values of a Secret's changes.
func redactChanges(changes []Change) {
	for i, c := range changes {
		if !strings.HasPrefix(c.Path, "data") && !strings.HasPrefix(c.Path, "stringData") {
			continue
		}
		changes[i].Live = hidden(c.Live, Hidden)
		if c.Live == nil {
			changes[i].Desired = hidden(c.Desired, Hidden)
		} else {
			changes[i].Desired = hidden(c.Desired, HiddenChanged)
		}
	}
}

// hidden replaces a value, or the values of a map so that its keys can be seen.
func hidden(v any, with string) any {
	switch x := v.(type) {
	case nil:
		return nil
	case map[string]any:
		out := make(map[string]any, len(x))
		for k := range x {
			out[k] = with
		}
		return out
	default:
		return with
	}
}
