// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ApplicationStatus is what was observed last. Keys that are not known here are kept, so that two controllers of
// different age on one cluster do not erase each other's remarks.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ApplicationStatus struct {
	// Resources are the managed objects, sorted by group, kind, namespace and name.
	// +optional
	Resources []ResourceStatus `json:"resources,omitempty"`
	// Sync is the comparison of manifests with the cluster.
	// +optional
	Sync SyncStatus `json:"sync,omitzero"`
	// Health is the worst health of the managed objects.
	// +optional
	Health AppHealthStatus `json:"health,omitzero"`
	// History are the syncs that ended well, oldest first.
	// +optional
	History []RevisionHistory `json:"history,omitempty"`
	// Conditions are problems and warnings.
	// +optional
	Conditions []ApplicationCondition `json:"conditions,omitempty"`
	// ReconciledAt is when manifests were last compared with the cluster in full.
	// +optional
	ReconciledAt *metav1.Time `json:"reconciledAt,omitempty"`
	// OperationState is the operation that runs or ran last.
	// +optional
	OperationState *OperationState `json:"operationState,omitempty"`
	// ObservedAt is no longer written.
	// +optional
	ObservedAt *metav1.Time `json:"observedAt,omitempty"`
	// SourceType is the tool of the source: Helm, Kustomize, Directory or Plugin.
	// +optional
	SourceType string `json:"sourceType,omitempty"`
	// Summary says what runs.
	// +optional
	Summary ApplicationSummary `json:"summary,omitzero"`
	// ResourceHealthSource is "appTree" when the health of single objects is not stored here, else empty.
	// +optional
	ResourceHealthSource string `json:"resourceHealthSource,omitempty"`
	// SourceTypes are the tools of sources, in the same order.
	// +optional
	SourceTypes []string `json:"sourceTypes,omitempty"`
	// ControllerNamespace is the control namespace of the controller that wrote this.
	// +optional
	ControllerNamespace string `json:"controllerNamespace,omitempty"`
	// SourceHydrator is the state of rendering into a branch.
	// +optional
	SourceHydrator SourceHydratorStatus `json:"sourceHydrator,omitzero"`
}

// SyncStatusCode is the outcome of a comparison.
type SyncStatusCode string

// Outcomes of a comparison.
const (
	SyncStatusUnknown   SyncStatusCode = "Unknown"
	SyncStatusSynced    SyncStatusCode = "Synced"
	SyncStatusOutOfSync SyncStatusCode = "OutOfSync"
)

// HealthStatusCode is a health as it is written into objects.
type HealthStatusCode string

// Healths, from best to worst.
const (
	HealthHealthy     HealthStatusCode = "Healthy"
	HealthSuspended   HealthStatusCode = "Suspended"
	HealthProgressing HealthStatusCode = "Progressing"
	HealthMissing     HealthStatusCode = "Missing"
	HealthDegraded    HealthStatusCode = "Degraded"
	HealthUnknown     HealthStatusCode = "Unknown"
)

// Values of ApplicationStatus.SourceType.
const (
	SourceTypeHelm      = "Helm"
	SourceTypeKustomize = "Kustomize"
	SourceTypeDirectory = "Directory"
	SourceTypePlugin    = "Plugin"
)

// ResourceHealthSourceAppTree says that the health of single objects is kept outside of the Application.
const ResourceHealthSourceAppTree = "appTree"

// SyncStatus is the outcome of comparing manifests with the cluster.
type SyncStatus struct {
	// Status is the outcome.
	// +optional
	Status SyncStatusCode `json:"status"`
	// ComparedTo is what was compared; a difference from the spec means that the outcome is stale.
	// +optional
	ComparedTo ComparedTo `json:"comparedTo,omitzero"`
	// Revision is the resolved revision that was compared.
	// +optional
	Revision string `json:"revision,omitempty"`
	// Revisions are the resolved revisions of several sources.
	// +optional
	Revisions []string `json:"revisions,omitempty"`
}

// ComparedTo is the part of a spec that a comparison depends on.
type ComparedTo struct {
	// Source that was compared.
	// +optional
	Source ApplicationSource `json:"source,omitzero"`
	// Destination that was compared.
	// +optional
	Destination ApplicationDestination `json:"destination"`
	// Sources that were compared, when there are several.
	// +optional
	Sources []ApplicationSource `json:"sources,omitempty"`
	// IgnoreDifferences that were in force.
	// +optional
	IgnoreDifferences []ResourceIgnoreDifferences `json:"ignoreDifferences,omitempty"`
}

// AppHealthStatus is the health of an Application.
type AppHealthStatus struct {
	// Status is the worst health of the managed objects.
	// +optional
	Status HealthStatusCode `json:"status,omitempty"`
	// Message names the objects that cause it.
	// +optional
	Message string `json:"message,omitempty"`
	// LastTransitionTime is when the status changed last.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}

// HealthStatus is the health of one object.
type HealthStatus struct {
	// Status is the health.
	// +optional
	Status HealthStatusCode `json:"status,omitempty"`
	// Message explains it.
	// +optional
	Message string `json:"message,omitempty"`
	// LastTransitionTime is when the status changed last.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}

// ResourceStatus is the state of one managed object.
type ResourceStatus struct {
	// Group of the object.
	// +optional
	Group string `json:"group,omitempty"`
	// Version of the object.
	// +optional
	Version string `json:"version,omitempty"`
	// Kind of the object.
	// +optional
	Kind string `json:"kind,omitempty"`
	// Namespace of the object; empty for cluster-scoped ones.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	// +optional
	Name string `json:"name,omitempty"`
	// Status is the comparison with its manifest; empty for hooks.
	// +optional
	Status SyncStatusCode `json:"status,omitempty"`
	// Health of the object; absent when it is kept elsewhere or nothing is known about the kind.
	// +optional
	Health *HealthStatus `json:"health,omitempty"`
	// Hook is true for a live hook.
	// +optional
	Hook bool `json:"hook,omitempty"`
	// RequiresPruning is true when the object is ours and no manifest contains it.
	// +optional
	RequiresPruning bool `json:"requiresPruning,omitempty"`
	// SyncWave of the object.
	// +optional
	SyncWave int64 `json:"syncWave,omitempty"`
	// RequiresDeletionConfirmation is true when somebody must agree before it is deleted.
	// +optional
	RequiresDeletionConfirmation bool `json:"requiresDeletionConfirmation,omitempty"`
}

// RevisionHistory is one sync that ended well.
type RevisionHistory struct {
	// Revision that was synced.
	// +optional
	Revision string `json:"revision,omitempty"`
	// DeployedAt is when the sync ended.
	// +optional
	DeployedAt metav1.Time `json:"deployedAt"`
	// ID grows with every entry and names it for a rollback.
	// +optional
	ID int64 `json:"id"`
	// Source that was synced.
	// +optional
	Source ApplicationSource `json:"source,omitzero"`
	// DeployStartedAt is when the sync began.
	// +optional
	DeployStartedAt *metav1.Time `json:"deployStartedAt,omitempty"`
	// Sources that were synced, when there are several.
	// +optional
	Sources []ApplicationSource `json:"sources,omitempty"`
	// Revisions of sources.
	// +optional
	Revisions []string `json:"revisions,omitempty"`
	// InitiatedBy says who asked.
	// +optional
	InitiatedBy OperationInitiator `json:"initiatedBy,omitzero"`
}

// ConditionType is the kind of a condition.
type ConditionType string

// Kinds of conditions. Those that end in Error stop automation, those that end in Warning do not, and the others say
// what is waited for.
const (
	ConditionDeletionError           ConditionType = "DeletionError"
	ConditionInvalidSpecError        ConditionType = "InvalidSpecError"
	ConditionComparisonError         ConditionType = "ComparisonError"
	ConditionSyncError               ConditionType = "SyncError"
	ConditionUnknownError            ConditionType = "UnknownError"
	ConditionSharedResourceWarning   ConditionType = "SharedResourceWarning"
	ConditionRepeatedResourceWarning ConditionType = "RepeatedResourceWarning"
	ConditionExcludedResourceWarning ConditionType = "ExcludedResourceWarning"
	ConditionOrphanedResourceWarning ConditionType = "OrphanedResourceWarning"
	// ConditionFightWarning says who changes again and again what self-heal repairs. Argo CD does not know it.
	ConditionFightWarning ConditionType = "FightWarning"
	// ConditionSyncOptionWarning names options that have no effect. Argo CD does not know it.
	ConditionSyncOptionWarning ConditionType = "SyncOptionWarning"
	// ConditionDeletionProgressing says what the deletion of an Application is at. Argo CD does not know it.
	ConditionDeletionProgressing ConditionType = "DeletionProgressing"
	// ConditionSyncWaiting says why an automated sync does not start now. Argo CD does not know it.
	ConditionSyncWaiting ConditionType = "SyncWaiting"
	// ConditionRollbackPinned says that automation stays at a release that a person went back to. Argo CD does not know it.
	ConditionRollbackPinned ConditionType = "RollbackPinned"
)

// ApplicationCondition is a problem or a warning.
type ApplicationCondition struct {
	// Type of the condition.
	// +optional
	Type ConditionType `json:"type"`
	// Message says what is wrong.
	// +optional
	Message string `json:"message"`
	// LastTransitionTime is when it appeared.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}

// ApplicationSummary says what an Application runs and where it can be reached.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ApplicationSummary struct {
	// ExternalURLs are addresses under which it can be reached.
	// +optional
	ExternalURLs []string `json:"externalURLs,omitempty"`
	// Images are the container images in use.
	// +optional
	Images []string `json:"images,omitempty"`
	// IsAppOfApps is true when one of the managed objects is an Application.
	// +optional
	IsAppOfApps bool `json:"isAppOfApps,omitempty"`
}
