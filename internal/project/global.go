// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// WithGlobals returns a project with the lists of global projects behind its own,
// as Argo CD adds them: what is permitted, what is forbidden, sync windows and
// service accounts. Nothing else of a global project counts.
func WithGlobals(p *v1alpha1.AppProject, globals []*v1alpha1.AppProject) *v1alpha1.AppProject {
	if len(globals) == 0 {
		return p
	}
	merged := p.DeepCopy()
	s := &merged.Spec
	for _, g := range globals {
		s.SourceRepos = append(s.SourceRepos, g.Spec.SourceRepos...)
		s.Destinations = append(s.Destinations, g.Spec.Destinations...)
		s.ClusterResourceWhitelist = append(s.ClusterResourceWhitelist, g.Spec.ClusterResourceWhitelist...)
		s.ClusterResourceBlacklist = append(s.ClusterResourceBlacklist, g.Spec.ClusterResourceBlacklist...)
		s.NamespaceResourceWhitelist = append(s.NamespaceResourceWhitelist, g.Spec.NamespaceResourceWhitelist...)
		s.NamespaceResourceBlacklist = append(s.NamespaceResourceBlacklist, g.Spec.NamespaceResourceBlacklist...)
		s.SyncWindows = append(s.SyncWindows, g.Spec.SyncWindows...)
		s.DestinationServiceAccounts = append(s.DestinationServiceAccounts, g.Spec.DestinationServiceAccounts...)
	}
	return merged
}

// Digest identifies what a project permits: two projects of one digest permit the
// same. What people may do in it, how it is described and what it only
// reports does not count.
func Digest(p *v1alpha1.AppProject) string {
	spec := *p.Spec.DeepCopy()
	spec.Roles, spec.Description, spec.OrphanedResources = nil, "", nil
	for i := range spec.SyncWindows {
		spec.SyncWindows[i].Description = ""
	}
	// An empty list of kinds permits nothing, an absent one everything.
	data, err := json.Marshal([]any{p.UID, spec.NamespaceResourceWhitelist == nil, spec})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}
