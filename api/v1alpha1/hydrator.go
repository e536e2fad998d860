// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SourceHydrator renders a dry source into a branch and applies from there.
//
// +kubebuilder:pruning:PreserveUnknownFields
type SourceHydrator struct {
	// DrySource is what is rendered.
	DrySource DrySource `json:"drySource"`
	// SyncSource is where the rendered manifests are applied from.
	SyncSource SyncSource `json:"syncSource"`
	// HydrateTo is a staging branch. Absent means straight to the branch of syncSource.
	// +optional
	HydrateTo *HydrateTo `json:"hydrateTo,omitempty"`
}

// DrySource is a Git source to be rendered.
type DrySource struct {
	// RepoURL is the Git repository.
	RepoURL string `json:"repoURL"`
	// TargetRevision is the revision to render.
	TargetRevision string `json:"targetRevision"`
	// Path is the directory to render.
	Path string `json:"path"`
	// Helm holds options for Helm charts.
	// +optional
	Helm *ApplicationSourceHelm `json:"helm,omitempty"`
	// Kustomize holds options for kustomizations.
	// +optional
	Kustomize *ApplicationSourceKustomize `json:"kustomize,omitempty"`
	// Directory holds options for plain manifests.
	// +optional
	Directory *ApplicationSourceDirectory `json:"directory,omitempty"`
	// Plugin holds options for a config management plugin.
	// +optional
	Plugin *ApplicationSourcePlugin `json:"plugin,omitempty"`
}

// SyncSource is the branch and directory of rendered manifests.
type SyncSource struct {
	// RepoURL is the Git repository. Empty means that of the dry source.
	// +optional
	RepoURL string `json:"repoURL,omitempty"`
	// TargetBranch is the branch to apply from.
	TargetBranch string `json:"targetBranch"`
	// Path is the directory to apply from; it must not be the root.
	Path string `json:"path"`
}

// HydrateTo names a staging branch.
type HydrateTo struct {
	// TargetBranch is the branch that receives the rendered manifests.
	TargetBranch string `json:"targetBranch"`
}

// SourceHydratorStatus is the state of rendering into a branch.
//
// +kubebuilder:pruning:PreserveUnknownFields
type SourceHydratorStatus struct {
	// LastSuccessfulOperation is the last one that ended well.
	// +optional
	LastSuccessfulOperation *SuccessfulHydrateOperation `json:"lastSuccessfulOperation,omitempty"`
	// CurrentOperation is the one that runs or ran last.
	// +optional
	CurrentOperation *HydrateOperation `json:"currentOperation,omitempty"`
	// LastComparedDryRevision is the dry commit that was looked at last.
	// +optional
	LastComparedDryRevision string `json:"lastComparedDryRevision,omitempty"`
}

// HydrateOperation is one attempt to render into a branch.
type HydrateOperation struct {
	// StartedAt is when it began.
	// +optional
	StartedAt metav1.Time `json:"startedAt,omitempty"`
	// FinishedAt is when it ended.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	// Phase is Hydrating, Hydrated or Failed.
	// +optional
	Phase string `json:"phase"`
	// Message explains the phase.
	// +optional
	Message string `json:"message"`
	// DrySHA is the commit that was rendered.
	// +optional
	DrySHA string `json:"drySHA,omitempty"`
	// HydratedSHA is the commit with the result.
	// +optional
	HydratedSHA string `json:"hydratedSHA,omitempty"`
	// SourceHydrator is the configuration it ran with.
	// +optional
	SourceHydrator SourceHydrator `json:"sourceHydrator,omitempty"`
}

// SuccessfulHydrateOperation is the result of an attempt that ended well.
type SuccessfulHydrateOperation struct {
	// DrySHA is the commit that was rendered.
	// +optional
	DrySHA string `json:"drySHA,omitempty"`
	// HydratedSHA is the commit with the result.
	// +optional
	HydratedSHA string `json:"hydratedSHA,omitempty"`
	// SourceHydrator is the configuration it ran with.
	// +optional
	SourceHydrator SourceHydrator `json:"sourceHydrator,omitempty"`
}
