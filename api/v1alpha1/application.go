// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Application says which manifests, from which revision, belong on which cluster, and what became of them.
//
// There is no status subresource: spec, operation and status are fields of one object, and every write of any of them
// raises metadata.generation.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=applications,shortName=app;apps
// +kubebuilder:printcolumn:name="Sync Status",type=string,JSONPath=`.status.sync.status`
// +kubebuilder:printcolumn:name="Health Status",type=string,JSONPath=`.status.health.status`
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.status.sync.revision`,priority=10
// +kubebuilder:printcolumn:name="Project",type=string,JSONPath=`.spec.project`,priority=10
type Application struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// Spec is the desired state.
	Spec ApplicationSpec `json:"spec"`
	// Operation is a request to sync; the controller removes it together with writing the completed operationState.
	// +optional
	Operation *Operation `json:"operation,omitempty"`
	// Status is what was observed last.
	// +optional
	Status ApplicationStatus `json:"status,omitzero"`
}

// ApplicationList is a list of Applications.
//
// +kubebuilder:object:root=true
type ApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	// Items are the Applications.
	Items []Application `json:"items"`
}

// ApplicationSpec is the desired state of an Application.
type ApplicationSpec struct {
	// Source is where the manifests come from. It is ignored when sources has elements or sourceHydrator is set.
	// +optional
	Source *ApplicationSource `json:"source,omitempty"`
	// Sources are several origins, rendered in this order; the results are concatenated.
	// +optional
	Sources []ApplicationSource `json:"sources,omitempty"`
	// SourceHydrator takes precedence over source and sources: what is applied was rendered earlier into a branch.
	// +optional
	SourceHydrator *SourceHydrator `json:"sourceHydrator,omitempty"`
	// Destination is the cluster and namespace the manifests belong on.
	Destination ApplicationDestination `json:"destination"`
	// Project is the AppProject in the control namespace that limits this Application. Empty means "default".
	// +optional
	Project string `json:"project"`
	// SyncPolicy says when and how to sync. Absent means by hand, with the defaults.
	// +optional
	SyncPolicy *SyncPolicy `json:"syncPolicy,omitempty"`
	// IgnoreDifferences are parts of live objects whose deviation from the manifest is of no interest.
	// +optional
	IgnoreDifferences []ResourceIgnoreDifferences `json:"ignoreDifferences,omitempty"`
	// Info is shown to people and has no other effect.
	// +optional
	Info []Info `json:"info,omitempty"`
	// RevisionHistoryLimit is the number of entries kept in status.history. Absent means 10, 0 keeps none.
	// +optional
	RevisionHistoryLimit *int64 `json:"revisionHistoryLimit,omitempty"`
}

// ApplicationDestination names a cluster, by address or by name, and a namespace on it.
type ApplicationDestination struct {
	// Server is the API address of the target cluster. Exactly one of server and name must be given.
	// +optional
	Server string `json:"server,omitempty"`
	// Namespace is given to namespaced manifests that carry none. It never replaces one that is written down.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name is the registered name of the target cluster. Exactly one of server and name must be given.
	// +optional
	Name string `json:"name,omitempty"`
}

// Info is a remark for people.
type Info struct {
	// Name is the label of the remark.
	Name string `json:"name"`
	// Value is its text; a URL is shown as a link.
	Value string `json:"value"`
}

// ResourceIgnoreDifferences selects live objects and names the parts of them that are not compared.
type ResourceIgnoreDifferences struct {
	// Group is a glob over API groups. Empty matches the core group only.
	// +optional
	Group string `json:"group,omitempty"`
	// Kind is a glob over kinds.
	Kind string `json:"kind"`
	// Name, when given, must be the object's name.
	// +optional
	Name string `json:"name,omitempty"`
	// Namespace, when given, must be the object's namespace.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// JSONPointers are paths (RFC 6901) to leave out.
	// +optional
	JSONPointers []string `json:"jsonPointers,omitempty"`
	// JQPathExpressions are jq paths to leave out.
	// +optional
	JQPathExpressions []string `json:"jqPathExpressions,omitempty"`
	// ManagedFieldsManagers are field managers; what one of them owns is left out.
	// +optional
	ManagedFieldsManagers []string `json:"managedFieldsManagers,omitempty"`
}
