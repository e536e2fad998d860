// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AppProject limits what the Applications that name it may use: repositories, destinations, kinds, times and people.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=appprojects,shortName=appproj;appprojs
type AppProject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// Spec holds the limits.
	Spec AppProjectSpec `json:"spec"`
	// Status holds issued tokens.
	// +optional
	Status AppProjectStatus `json:"status,omitzero"`
}

// AppProjectList is a list of AppProjects.
//
// +kubebuilder:object:root=true
type AppProjectList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	// Items are the AppProjects.
	Items []AppProject `json:"items"`
}

// AppProjectSpec holds the limits of a project. Patterns are globs; a leading "!" denies.
type AppProjectSpec struct {
	// SourceRepos are patterns over repository addresses.
	// +optional
	SourceRepos []string `json:"sourceRepos,omitempty"`
	// Destinations are the permitted clusters and namespaces.
	// +optional
	Destinations []ApplicationDestination `json:"destinations,omitempty"`
	// Description is shown to people.
	// +optional
	Description string `json:"description,omitempty"`
	// Roles are the roles of people and tokens in this project.
	// +optional
	Roles []ProjectRole `json:"roles,omitempty"`
	// ClusterResourceWhitelist are the permitted cluster-scoped kinds. Empty permits none.
	// +optional
	ClusterResourceWhitelist []ClusterResourceRestriction `json:"clusterResourceWhitelist,omitempty"`
	// NamespaceResourceBlacklist are the forbidden namespaced kinds.
	// +optional
	NamespaceResourceBlacklist []GroupKind `json:"namespaceResourceBlacklist,omitempty"`
	// OrphanedResources says whether objects in the project's namespaces that nobody manages are reported.
	// +optional
	OrphanedResources *OrphanedResources `json:"orphanedResources,omitempty"`
	// SyncWindows are times in which syncs are allowed or denied.
	// +optional
	SyncWindows []SyncWindow `json:"syncWindows,omitempty"`
	// NamespaceResourceWhitelist are the permitted namespaced kinds. Absent permits all; an empty list permits none.
	// +optional
	NamespaceResourceWhitelist []GroupKind `json:"namespaceResourceWhitelist,omitzero"`
	// SignatureKeys are keys one of which must have signed a commit. Superseded by sourceIntegrity.
	// +optional
	SignatureKeys []SignatureKey `json:"signatureKeys,omitempty"`
	// ClusterResourceBlacklist are the forbidden cluster-scoped kinds.
	// +optional
	ClusterResourceBlacklist []ClusterResourceRestriction `json:"clusterResourceBlacklist,omitempty"`
	// SourceNamespaces are patterns over namespaces, other than the control namespace, whose Applications may name
	// this project.
	// +optional
	SourceNamespaces []string `json:"sourceNamespaces,omitempty"`
	// PermitOnlyProjectScopedClusters permits only clusters that are registered for this project.
	// +optional
	PermitOnlyProjectScopedClusters bool `json:"permitOnlyProjectScopedClusters,omitempty"`
	// DestinationServiceAccounts are the identities used on destinations; the first match counts.
	// +optional
	DestinationServiceAccounts []DestinationServiceAccount `json:"destinationServiceAccounts,omitempty"`
	// SourceIntegrity says how commits must be signed.
	// +optional
	SourceIntegrity *SourceIntegrity `json:"sourceIntegrity,omitempty"`
}

// GroupKind is a pattern over kinds.
type GroupKind struct {
	// Group is a glob over API groups; empty is the core group.
	Group string `json:"group"`
	// Kind is a glob over kinds.
	Kind string `json:"kind"`
}

// ClusterResourceRestriction is a pattern over cluster-scoped objects.
type ClusterResourceRestriction struct {
	// Group is a glob over API groups; empty is the core group.
	Group string `json:"group"`
	// Kind is a glob over kinds.
	Kind string `json:"kind"`
	// Name is a pattern over names. Empty matches every name.
	// +optional
	Name string `json:"name,omitempty"`
}

// ProjectRole gives people and tokens permissions in a project.
type ProjectRole struct {
	// Name of the role.
	Name string `json:"name"`
	// Description is shown to people.
	// +optional
	Description string `json:"description,omitempty"`
	// Policies are the permissions, one line of policy each.
	// +optional
	Policies []string `json:"policies,omitempty"`
	// JWTTokens are the tokens issued for this role.
	// +optional
	JWTTokens []JWTToken `json:"jwtTokens,omitempty"`
	// Groups are the identity provider's groups that have this role.
	// +optional
	Groups []string `json:"groups,omitempty"`
}

// JWTToken is the record of an issued token; it does not contain the token.
type JWTToken struct {
	// IssuedAt is when the token was issued, in seconds since 1970.
	IssuedAt int64 `json:"iat"`
	// ExpiresAt is when it ends, in seconds since 1970. Absent means never.
	// +optional
	ExpiresAt int64 `json:"exp,omitempty"`
	// ID of the token.
	// +optional
	ID string `json:"id,omitempty"`
}

// JWTTokens are the tokens of one role.
type JWTTokens struct {
	// Items are the tokens.
	// +optional
	Items []JWTToken `json:"items,omitempty"`
}

// OrphanedResources says which objects that nobody manages are reported.
type OrphanedResources struct {
	// Warn puts a warning on Applications. Absent means false.
	// +optional
	Warn *bool `json:"warn,omitempty"`
	// Ignore are objects that are not reported.
	// +optional
	Ignore []OrphanedResourceKey `json:"ignore,omitempty"`
}

// OrphanedResourceKey is a pattern over objects.
type OrphanedResourceKey struct {
	// Group is a glob over API groups.
	// +optional
	Group string `json:"group,omitempty"`
	// Kind is a glob over kinds.
	// +optional
	Kind string `json:"kind,omitempty"`
	// Name is a glob over names.
	// +optional
	Name string `json:"name,omitempty"`
}

// SyncWindow is a repeated span of time in which syncs are allowed or denied.
type SyncWindow struct {
	// Kind is "allow" or "deny".
	// +optional
	Kind string `json:"kind,omitempty"`
	// Schedule is when the window opens, as five cron fields.
	// +optional
	Schedule string `json:"schedule,omitempty"`
	// Duration is how long it stays open, as a Go duration.
	// +optional
	Duration string `json:"duration,omitempty"`
	// Applications are globs over Application names.
	// +optional
	Applications []string `json:"applications,omitempty"`
	// Namespaces are globs over destination namespaces.
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`
	// Clusters are globs over names and addresses of destination clusters.
	// +optional
	Clusters []string `json:"clusters,omitempty"`
	// ManualSync lets people sync when automation may not.
	// +optional
	ManualSync bool `json:"manualSync,omitempty"`
	// TimeZone of the schedule. Empty or unknown means UTC.
	// +optional
	TimeZone string `json:"timeZone,omitempty"`
	// UseAndOperator demands that applications, namespaces and clusters all match, not just one of them.
	// +optional
	UseAndOperator bool `json:"andOperator,omitempty"`
	// Description is shown to people.
	// +optional
	Description string `json:"description,omitempty"`
	// SyncOverrun lets a sync that began in time go on when the window closes.
	// +optional
	SyncOverrun bool `json:"syncOverrun,omitempty"`
}

// SignatureKey names a key that may sign commits.
type SignatureKey struct {
	// KeyID is the id of the key.
	KeyID string `json:"keyID"`
}

// DestinationServiceAccount is the identity used on a destination.
type DestinationServiceAccount struct {
	// Server is a glob over addresses of clusters.
	// +optional
	Server string `json:"server"`
	// Namespace is a glob over namespaces.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// DefaultServiceAccount is NAME or NAMESPACE:NAME.
	// +optional
	DefaultServiceAccount string `json:"defaultServiceAccount"`
}

// SourceIntegrity says how sources must be signed. Keys that are not known here are kept: dropping one would loosen
// a protection silently.
//
// +kubebuilder:pruning:PreserveUnknownFields
type SourceIntegrity struct {
	// Git holds the policies for Git repositories.
	// +optional
	Git *SourceIntegrityGit `json:"git,omitempty"`
}

// SourceIntegrityGit holds the signature policies for Git repositories.
//
// +kubebuilder:pruning:PreserveUnknownFields
type SourceIntegrityGit struct {
	// Policies in order; the first whose repositories match counts.
	// +optional
	Policies []SourceIntegrityGitPolicy `json:"policies,omitempty"`
}

// SourceIntegrityGitPolicy is the signature policy for some repositories.
//
// +kubebuilder:pruning:PreserveUnknownFields
type SourceIntegrityGitPolicy struct {
	// Repos are the repositories.
	// +optional
	Repos []SourceIntegrityGitRepo `json:"repos,omitempty"`
	// GPG is the policy.
	// +optional
	GPG *SourceIntegrityGPG `json:"gpg,omitempty"`
}

// SourceIntegrityGitRepo is a pattern over repositories.
type SourceIntegrityGitRepo struct {
	// URL is a glob over addresses.
	// +optional
	URL string `json:"url"`
}

// SourceIntegrityGPG says which commits must be signed, and by whom.
//
// +kubebuilder:pruning:PreserveUnknownFields
type SourceIntegrityGPG struct {
	// Mode is "none", "head" or "strict".
	// +optional
	Mode string `json:"mode,omitempty"`
	// Keys are the ids of the keys that may sign.
	// +optional
	Keys []string `json:"keys,omitempty"`
}

// AppProjectStatus holds the issued tokens of a project.
type AppProjectStatus struct {
	// JWTTokensByRole are the issued tokens by role.
	// +optional
	JWTTokensByRole map[string]JWTTokens `json:"jwtTokensByRole,omitempty"`
}
