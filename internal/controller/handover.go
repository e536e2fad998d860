// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// handsOver tells whether an object that carries the Application's mark is no
// longer rendered by it, but by another.
func (s *session) handsOver() bool {
	own := map[manifest.Key]bool{}
	for _, key := range renderedKeys(s.comparison.Plan) {
		own[key] = true
	}
	for _, obj := range s.dest.Tracked(s.instance) {
		key := manifest.KeyOf(obj)
		if !own[key] && len(s.renderings.others(nameOf(s.app), s.dest.Server, key)) > 0 {
			return true
		}
	}
	return false
}

// handOver takes the mark of an Application that is being deleted off an object
// that others render: a mark of nobody would keep them from taking it.
func (s *session) handOver(ctx context.Context, obj *unstructured.Unstructured) error {
	key := manifest.KeyOf(obj)
	if owner, _, marked := strings.Cut(obj.GetAnnotations()[manifest.AnnotationTrackingID], ":"); !marked || owner != s.instance {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{manifest.AnnotationTrackingID: nil}}})
	if err != nil {
		return err
	}
	if _, err := s.dest.Patch(ctx, key, patch); err != nil {
		return fmt.Errorf("hand over %s: %w", key.Short(), err)
	}
	return nil
}
