// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// SyncPolicy says when and how an Application is synced.
type SyncPolicy struct {
	// Automated syncs without a person. Its presence, even empty, switches automation on unless enabled is false.
	// +optional
	Automated *SyncPolicyAutomated `json:"automated,omitempty"`
	// SyncOptions are switches like "CreateNamespace=true"; they are compared exactly.
	// +optional
	SyncOptions []string `json:"syncOptions,omitempty"`
	// Retry says how often and how fast a failed sync is tried again.
	// +optional
	Retry *RetryStrategy `json:"retry,omitempty"`
	// ManagedNamespaceMetadata is put on the namespace that CreateNamespace=true creates.
	// +optional
	ManagedNamespaceMetadata *ManagedNamespaceMetadata `json:"managedNamespaceMetadata,omitempty"`
}

// SyncPolicyAutomated says what automation may do.
type SyncPolicyAutomated struct {
	// Prune deletes what the source no longer contains. Absent means false.
	// +optional
	Prune *bool `json:"prune,omitempty"`
	// SelfHeal syncs again when live objects drift. Absent means false.
	// +optional
	SelfHeal *bool `json:"selfHeal,omitempty"`
	// AllowEmpty permits a sync that would delete everything. Absent means false.
	// +optional
	AllowEmpty *bool `json:"allowEmpty,omitempty"`
	// Enabled switches automation off when false. Absent means true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// ManagedNamespaceMetadata holds labels and annotations for a created namespace.
type ManagedNamespaceMetadata struct {
	// Labels for the namespace.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations for the namespace.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// RetryStrategy says how often and how fast a failed sync is tried again.
type RetryStrategy struct {
	// Limit is the number of further attempts; below 0 there is no limit, 0 means none.
	// +optional
	Limit int64 `json:"limit,omitempty"`
	// Backoff is the pause between attempts. Absent means the defaults.
	// +optional
	Backoff *Backoff `json:"backoff,omitempty"`
	// Refresh resolves the revision anew for every attempt instead of keeping the first one.
	// +optional
	Refresh bool `json:"refresh,omitempty"`
}

// Backoff is a pause that grows from attempt to attempt.
type Backoff struct {
	// Duration is the first pause: a Go duration, or a bare number of seconds. Empty means 5s.
	// +optional
	Duration string `json:"duration,omitempty"`
	// Factor multiplies the pause after each attempt. Absent means 2.
	// +optional
	Factor *int64 `json:"factor,omitempty"`
	// MaxDuration is the longest pause. Empty means 3m; zero or less removes the bound.
	// +optional
	MaxDuration string `json:"maxDuration,omitempty"`
}
