// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Annotations on an Application.
const (
	// AnnotationRefresh asks for a comparison: "normal", or "hard" to render again.
	AnnotationRefresh = "argocd.argoproj.io/refresh"
	// AnnotationSkipReconcile freezes an Application when "true".
	AnnotationSkipReconcile = "argocd.argoproj.io/skip-reconcile"
	// AnnotationDeletionApproved holds the RFC 3339 time of a confirmation to delete.
	AnnotationDeletionApproved = "argocd.argoproj.io/deletion-approved"
	// AnnotationManifestGeneratePaths limits the paths whose change matters.
	AnnotationManifestGeneratePaths = "argocd.argoproj.io/manifest-generate-paths"
	// AnnotationAdopted marks an Application that was handed over: AnnotationSkipReconcile no longer concerns Wavetrain.
	AnnotationAdopted = "wavetrain.dev/adopted"
	// AnnotationSkipReconcileHere freezes an Application for Wavetrain alone when "true".
	AnnotationSkipReconcileHere = "wavetrain.dev/skip-reconcile"
	// AnnotationDependsOn lists Applications that must be released first.
	AnnotationDependsOn = "wavetrain.dev/depends-on"
	// AnnotationSyncOptions switches deviations from Argo CD on and off.
	AnnotationSyncOptions = "wavetrain.dev/sync-options"
	// AnnotationHelmLifecycle runs install-only and upgrade-only Helm hooks by Helm's own rule when "true".
	AnnotationHelmLifecycle = "wavetrain.dev/helm-lifecycle"
)

// Values of AnnotationRefresh.
const (
	RefreshNormal = "normal"
	RefreshHard   = "hard"
)

// Finalizers on an Application.
const (
	// FinalizerResources deletes the managed objects with the Application, in the foreground.
	FinalizerResources = "resources-finalizer.argocd.argoproj.io"
	// FinalizerResourcesForeground is the long form of FinalizerResources.
	FinalizerResourcesForeground = FinalizerResources + "/foreground"
	// FinalizerResourcesBackground deletes the managed objects in the background.
	FinalizerResourcesBackground = FinalizerResources + "/background"
	// FinalizerPreDelete holds the Application until its PreDelete hooks ran.
	FinalizerPreDelete = "pre-delete-finalizer.argocd.argoproj.io"
	// FinalizerPreDeleteCleanup holds it until their delete policies were carried out.
	FinalizerPreDeleteCleanup = FinalizerPreDelete + "/cleanup"
	// FinalizerPostDelete holds the Application until its PostDelete hooks ran.
	FinalizerPostDelete = "post-delete-finalizer.argocd.argoproj.io"
	// FinalizerPostDeleteCleanup holds it until their delete policies were carried out.
	FinalizerPostDeleteCleanup = FinalizerPostDelete + "/cleanup"
)
