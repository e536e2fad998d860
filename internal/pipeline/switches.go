// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// PlanOptions are the options of a plan that an Application decides, with the sync
// options that are in force: those of its spec, or of an operation.
func PlanOptions(app *v1alpha1.Application, syncOptions []string) plan.Options {
	switches := manifest.ParseOptions(syncOptions...)
	own := manifest.ParseOptions(app.Annotations[manifest.AnnotationWavetrainOptions])
	opts := plan.Options{
		PruneLast:        switches.Has("PruneLast=true"),
		PruneDisabled:    switches.Has("Prune=false"),
		PruneConfirm:     switches.Has("Prune=confirm"),
		CreateNamespace:  switches.Has("CreateNamespace=true"),
		OutOfSyncOnly:    switches.Has("ApplyOutOfSyncOnly=true"),
		KindOrderOnly:    own.Has("ProducersFirst=false"),
		NoEffects:        own.Has("EffectGate=false"),
		PruneHeld:        own.Has("DeferPrune=false"),
		PruneHandedOver:  own.Has("NamespaceHandover=false"),
		KeepDefinitions:  own.Has("PruneDefinitions=false"),
		LastWins:         own.Has("Duplicates=last-wins"),
		SkipMissingKinds: switches.Has("SkipDryRunOnMissingResource=true"),
		HelmLifecycle:    app.Annotations[v1alpha1.AnnotationHelmLifecycle] == "true",
	}
	if policy := app.Spec.SyncPolicy; policy != nil && policy.ManagedNamespaceMetadata != nil {
		opts.NamespaceLabels = policy.ManagedNamespaceMetadata.Labels
		opts.NamespaceAnnotations = policy.ManagedNamespaceMetadata.Annotations
	}
	return opts
}
