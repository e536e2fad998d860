// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

func TestTolerates(t *testing.T) {
	refused := func(kind string) cluster.KindError {
		err := apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", errors.New("no right to list"))
		return cluster.KindError{Kind: schema.GroupKind{Kind: kind}, Err: err}
	}
	rendered := []manifest.Object{{Unstructured: &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}}}
	tests := map[string]struct {
		reason   string
		tolerant bool
		err      error
		want     bool
	}{
		"Other":       {"a kind that nothing rendered is of", true, &cluster.WatchError{Kinds: []cluster.KindError{refused("Namespace")}}, true},
		"Rendered":    {"what is rendered has to be read", true, &cluster.WatchError{Kinds: []cluster.KindError{refused("Namespace"), refused("ConfigMap")}}, false},
		"NotAsked":    {"only where rights are respected", false, &cluster.WatchError{Kinds: []cluster.KindError{refused("Namespace")}}, false},
		"Unreachable": {"no answer is no refusal", true, &cluster.WatchError{Kinds: []cluster.KindError{{Kind: schema.GroupKind{Kind: "Namespace"}, Err: errors.New("no route")}}}, false},
		"Else":        {"any other error", true, errors.New("closed"), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (Subject{Tolerant: tt.tolerant}).tolerates(tt.err, rendered); got != tt.want {
				t.Errorf("%s: %t, want %t", tt.reason, got, tt.want)
			}
		})
	}
}
