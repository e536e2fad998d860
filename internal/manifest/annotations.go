// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

// Annotations and finalizers that Argo CD defines and Wavetrain obeys.
const (
	AnnotationHook             = "argocd.argoproj.io/hook"
	AnnotationHookDeletePolicy = "argocd.argoproj.io/hook-delete-policy"
	AnnotationSyncWave         = "argocd.argoproj.io/sync-wave"
	AnnotationSyncOptions      = "argocd.argoproj.io/sync-options"
	AnnotationCompareOptions   = "argocd.argoproj.io/compare-options"
	AnnotationIgnoreHealth     = "argocd.argoproj.io/ignore-healthcheck"
	AnnotationTrackingID       = "argocd.argoproj.io/tracking-id"
	AnnotationInstallationID   = "argocd.argoproj.io/installation-id"
	AnnotationRefresh          = "argocd.argoproj.io/refresh"
	AnnotationSkipReconcile    = "argocd.argoproj.io/skip-reconcile"
	AnnotationDeletionApproved = "argocd.argoproj.io/deletion-approved"

	// HookFinalizer keeps a finished hook until its result has been recorded.
	HookFinalizer = "argocd.argoproj.io/hook-finalizer"
	// ResourcesFinalizer on an Application asks for cascade deletion.
	ResourcesFinalizer = "resources-finalizer.argocd.argoproj.io"
)

// Annotations that Helm defines.
const (
	AnnotationHelmHook             = "helm.sh/hook"
	AnnotationHelmHookWeight       = "helm.sh/hook-weight"
	AnnotationHelmHookDeletePolicy = "helm.sh/hook-delete-policy"
	AnnotationHelmResourcePolicy   = "helm.sh/resource-policy"
)

// Annotations of our own.
const (
	// AnnotationOperation is put on every hook: "<operation id>/<attempt>".
	AnnotationOperation = "wavetrain.dev/operation"
	// AnnotationRendering marks objects whose unstable values come from one
	// rendering.
	AnnotationRendering = "wavetrain.dev/rendering"
	// AnnotationPurpose is free text for the waves page.
	AnnotationPurpose = "wavetrain.dev/purpose"
	// AnnotationNeeds names objects that somebody else brings, and without which
	// nothing is done with this one.
	AnnotationNeeds = "wavetrain.dev/needs"
	// AnnotationProduces names objects that come of this one although no manifest has
	// them, such as the Secret that a hook makes.
	AnnotationProduces = "wavetrain.dev/produces"
	// AnnotationWavetrainOptions has the grammar of Argo CD's sync-options and
	// switches single deviations off.
	AnnotationWavetrainOptions = "wavetrain.dev/sync-options"
)

// Field managers: the desired state is applied by FieldManager, everything
// else (status, finalizers, annotations) is patched by ControllerFieldManager.
const (
	FieldManager           = "wavetrain"
	ControllerFieldManager = "wavetrain-controller"
)

// Phase is a stage of a rollout or of an application's deletion.
type Phase string

// Phases in the order in which they run; SyncFail only after a failure,
// PreDelete and PostDelete only when the application is deleted.
const (
	PreSync    Phase = "PreSync"
	Sync       Phase = "Sync"
	PostSync   Phase = "PostSync"
	SyncFail   Phase = "SyncFail"
	PreDelete  Phase = "PreDelete"
	PostDelete Phase = "PostDelete"
)

// Rank gives the phase's place in the order above.
func (p Phase) Rank() int {
	switch p {
	case PreSync:
		return -1
	case Sync:
		return 0
	case PostSync:
		return 1
	case SyncFail:
		return 2
	case PreDelete:
		return 3
	default:
		return 4
	}
}

// Known reports whether there is such a phase.
func (p Phase) Known() bool {
	switch p {
	case PreSync, Sync, PostSync, SyncFail, PreDelete, PostDelete:
		return true
	}
	return false
}

// DeletePolicy says when a hook's object is deleted.
type DeletePolicy string

// Delete policies; a hook without any has BeforeHookCreation.
const (
	BeforeHookCreation DeletePolicy = "BeforeHookCreation"
	HookSucceeded      DeletePolicy = "HookSucceeded"
	HookFailed         DeletePolicy = "HookFailed"
)
