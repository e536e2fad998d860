// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Operation is a request to do something with an Application.
type Operation struct {
	// Sync asks for a sync.
	// +optional
	Sync *SyncOperation `json:"sync,omitempty"`
	// InitiatedBy says who asked.
	// +optional
	InitiatedBy OperationInitiator `json:"initiatedBy,omitzero"`
	// Info is shown to people and has no other effect.
	// +optional
	Info []Info `json:"info,omitempty"`
	// Retry says how often and how fast to try again.
	// +optional
	Retry RetryStrategy `json:"retry,omitzero"`
}

// OperationInitiator says who asked for an operation.
type OperationInitiator struct {
	// Username is the person.
	// +optional
	Username string `json:"username,omitempty"`
	// Automated is true when the sync policy asked, not a person.
	// +optional
	Automated bool `json:"automated,omitempty"`
}

// SyncOperation holds the details of a requested sync.
type SyncOperation struct {
	// Revision to sync to. Empty means the target revision of the spec.
	// +optional
	Revision string `json:"revision,omitempty"`
	// Prune deletes what the source no longer contains.
	// +optional
	Prune bool `json:"prune,omitempty"`
	// DryRun checks without changing anything.
	// +optional
	DryRun bool `json:"dryRun,omitempty"`
	// SyncStrategy says how to apply. Absent means hooks run.
	// +optional
	SyncStrategy *SyncStrategy `json:"syncStrategy,omitempty"`
	// Resources limits the sync to these objects. Empty means everything.
	// +optional
	Resources []SyncOperationResource `json:"resources,omitempty"`
	// Source replaces the source of the spec.
	// +optional
	Source *ApplicationSource `json:"source,omitempty"`
	// Manifests are applied instead of rendered ones.
	// +optional
	Manifests []string `json:"manifests,omitempty"`
	// SyncOptions are the switches of this sync. Those of the spec are copied here when the request is made.
	// +optional
	SyncOptions []string `json:"syncOptions,omitempty"`
	// Sources replace the sources of the spec.
	// +optional
	Sources []ApplicationSource `json:"sources,omitempty"`
	// Revisions are those of sources, in the same order.
	// +optional
	Revisions []string `json:"revisions,omitempty"`
	// AutoHealAttemptsCount is the number of self-heal attempts so far.
	// +optional
	AutoHealAttemptsCount int64 `json:"autoHealAttemptsCount,omitempty"`
}

// SyncStrategy says how a sync applies objects. At most one of its fields is set; none means hook.
type SyncStrategy struct {
	// Apply applies and leaves hooks out.
	// +optional
	Apply *SyncStrategyApply `json:"apply,omitempty"`
	// Hook applies and runs hooks.
	// +optional
	Hook *SyncStrategyHook `json:"hook,omitempty"`
}

// SyncStrategyApply applies without hooks.
type SyncStrategyApply struct {
	// Force deletes and creates an object that cannot be changed in place.
	// +optional
	Force bool `json:"force,omitempty"`
}

// SyncStrategyHook applies with hooks.
type SyncStrategyHook struct {
	SyncStrategyApply `json:",inline"`
}

// SyncOperationResource selects an object of a partial sync.
type SyncOperationResource struct {
	// Group of the object; empty is the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// Kind of the object.
	Kind string `json:"kind"`
	// Name of the object.
	Name string `json:"name"`
	// Namespace of the object.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// OperationPhase is the state of an operation.
type OperationPhase string

// Phases of an operation. Asking to terminate means writing Terminating over Running.
const (
	OperationRunning     OperationPhase = "Running"
	OperationTerminating OperationPhase = "Terminating"
	OperationSucceeded   OperationPhase = "Succeeded"
	OperationFailed      OperationPhase = "Failed"
	OperationError       OperationPhase = "Error"
)

// Completed tells whether p is final.
func (p OperationPhase) Completed() bool {
	return p == OperationSucceeded || p == OperationFailed || p == OperationError
}

// Successful tells whether p is final and good.
func (p OperationPhase) Successful() bool { return p == OperationSucceeded }

// OperationState is what became of an operation.
type OperationState struct {
	// Operation is a copy of the request.
	// +optional
	Operation Operation `json:"operation"`
	// Phase of the operation.
	// +optional
	Phase OperationPhase `json:"phase"`
	// Message explains the phase.
	// +optional
	Message string `json:"message,omitempty"`
	// SyncResult lists what was done.
	// +optional
	SyncResult *SyncOperationResult `json:"syncResult,omitempty"`
	// StartedAt is when the operation began.
	// +optional
	StartedAt metav1.Time `json:"startedAt"`
	// FinishedAt is when it ended.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	// RetryCount is the number of attempts after the first.
	// +optional
	RetryCount int64 `json:"retryCount,omitempty"`
}

// SyncOperationResult lists what a sync did.
type SyncOperationResult struct {
	// Resources are the results, in the order in which they were first recorded.
	// +optional
	Resources []ResourceResult `json:"resources,omitempty"`
	// Revision is the resolved revision that was synced.
	// +optional
	Revision string `json:"revision"`
	// Source is what was synced.
	// +optional
	Source ApplicationSource `json:"source,omitzero"`
	// Sources are what was synced, when there are several.
	// +optional
	Sources []ApplicationSource `json:"sources,omitempty"`
	// Revisions are the resolved revisions of sources.
	// +optional
	Revisions []string `json:"revisions,omitempty"`
	// ManagedNamespaceMetadata is what was put on the created namespace.
	// +optional
	ManagedNamespaceMetadata *ManagedNamespaceMetadata `json:"managedNamespaceMetadata,omitempty"`
}

// ResultCode is what became of one object in a sync.
type ResultCode string

// Results of one object.
const (
	ResultSynced       ResultCode = "Synced"
	ResultSyncFailed   ResultCode = "SyncFailed"
	ResultPruned       ResultCode = "Pruned"
	ResultPruneSkipped ResultCode = "PruneSkipped"
)

// ResourceResult is what became of one object in a sync.
type ResourceResult struct {
	// Group of the object.
	// +optional
	Group string `json:"group"`
	// Version of the object.
	// +optional
	Version string `json:"version"`
	// Kind of the object.
	// +optional
	Kind string `json:"kind"`
	// Namespace of the object.
	// +optional
	Namespace string `json:"namespace"`
	// Name of the object.
	// +optional
	Name string `json:"name"`
	// Status is the result of applying or pruning. Empty while it is awaited.
	// +optional
	Status ResultCode `json:"status,omitempty"`
	// Message explains the result.
	// +optional
	Message string `json:"message,omitempty"`
	// HookType is the phase annotation of a hook; empty for ordinary objects.
	// +optional
	HookType string `json:"hookType,omitempty"`
	// HookPhase is how far the object is, for hooks and ordinary objects alike.
	// +optional
	HookPhase OperationPhase `json:"hookPhase,omitempty"`
	// SyncPhase is the phase in which the object was handled.
	// +optional
	SyncPhase string `json:"syncPhase,omitempty"`
	// Images that the object uses.
	// +optional
	Images []string `json:"images,omitempty"`
}
