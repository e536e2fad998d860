// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// scalingManager is the field manager by which Kubernetes' own autoscaler writes.
const scalingManager = "kube-controller-manager"

// ignoresOf tells which fields an Application leaves to others. To ignore a difference
// is not enough: a sync writes the field all the same, unless it is told to respect
// that.
func ignoresOf(app *v1alpha1.Application) func(manifest.Key, string) bool {
	if app == nil || !manifest.ParseOptions(app.Spec.SyncOptionList()...).Has("RespectIgnoreDifferences=true") {
		return nil
	}
	return func(k manifest.Key, pointer string) bool {
		return slices.ContainsFunc(app.Spec.IgnoreDifferences, func(r v1alpha1.ResourceIgnoreDifferences) bool {
			if !diff.Selects(r, k.GroupKind()) || r.Name != "" && r.Name != k.Name || r.Namespace != "" && r.Namespace != k.Namespace {
				return false
			}
			return slices.Contains(r.JSONPointers, pointer) ||
				slices.Contains(r.JQPathExpressions, strings.ReplaceAll(pointer, "/", ".")) ||
				slices.Contains(r.ManagedFieldsManagers, scalingManager)
		})
	}
}
