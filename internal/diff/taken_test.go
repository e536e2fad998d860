// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTaken(t *testing.T) {
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const update, apply = metav1.ManagedFieldsOperationUpdate, metav1.ManagedFieldsOperationApply
	both, replicas, paused := `{"f:spec":{"f:replicas":{},"f:paused":{}}}`, `{"f:spec":{"f:replicas":{}}}`, `{"f:spec":{"f:paused":{}}}`
	for name, row := range map[string]struct {
		reason        string
		before, after []metav1.ManagedFieldsEntry
		want          string
	}{
		"one of two": {
			"what they keep was not taken",
			[]metav1.ManagedFieldsEntry{entry("kubectl-edit", update, both)},
			[]metav1.ManagedFieldsEntry{entry("wavetrain", apply, replicas), entry("kubectl-edit", update, paused)},
			"spec.replicas from kubectl-edit",
		},
		"all of theirs": {
			"an entry that is gone has lost everything",
			[]metav1.ManagedFieldsEntry{entry("hpa", update, replicas), entry("kubectl-edit", update, paused)},
			[]metav1.ManagedFieldsEntry{entry("wavetrain", apply, both)},
			"spec.paused from kubectl-edit, spec.replicas from hpa",
		},
		"shared": {
			"an equal value is owned by both",
			[]metav1.ManagedFieldsEntry{entry("other", apply, replicas)},
			[]metav1.ManagedFieldsEntry{entry("wavetrain", apply, replicas), entry("other", apply, replicas)},
			"",
		},
		"removed": {
			"what disappeared is not ours now",
			[]metav1.ManagedFieldsEntry{entry("other", apply, replicas)},
			[]metav1.ManagedFieldsEntry{entry("wavetrain", apply, paused)},
			"",
		},
		"taken over": {
			"in the place of a tool that is replaced there is no conflict",
			[]metav1.ManagedFieldsEntry{entry("argocd-controller", apply, replicas)},
			[]metav1.ManagedFieldsEntry{entry("wavetrain", apply, replicas)},
			"",
		},
		"many": {
			"a message stays short",
			[]metav1.ManagedFieldsEntry{entry("x", update, `{"f:data":{"f:a":{},"f:b":{},"f:c":{},"f:d":{},"f:e":{}}}`)},
			[]metav1.ManagedFieldsEntry{entry("wavetrain", apply, `{"f:data":{"f:a":{},"f:b":{},"f:c":{},"f:d":{},"f:e":{}}}`)},
			"data.a from x, data.b from x, data.c from x, and 2 more",
		},
	} {
		if got := Taken(row.before, row.after, "wavetrain"); got != row.want {
			t.Errorf("%s: %q, want %q (%s)", name, got, row.want, row.reason)
		}
	}
}
