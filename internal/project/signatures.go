// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// Signatures are what a project demands of a commit: nothing without keys.
type Signatures struct {
	// Keys are the ids of keys one of which must have signed it.
	Keys []string
	// History says that the same is demanded of all commits before it.
	History bool
}

// Signatures is what is demanded of the commits of a repository. A demand that is not
// understood is an error: what cannot be checked is not delivered.
func (r *Rules) Signatures(repo string) (Signatures, error) {
	if integrity := r.spec.SourceIntegrity; integrity != nil {
		return r.integrity(integrity, repo)
	}
	var demanded Signatures
	for _, key := range r.spec.SignatureKeys {
		demanded.Keys = append(demanded.Keys, key.KeyID)
	}
	return demanded, nil
}

// integrity reads the policies: the first that is for the repository counts.
func (r *Rules) integrity(in *v1alpha1.SourceIntegrity, repo string) (Signatures, error) {
	if in.Git == nil {
		return Signatures{}, nil
	}
	for i, policy := range in.Git.Policies {
		if !concerns(policy, repo) {
			continue
		}
		at := fmt.Sprintf("project %s: spec.sourceIntegrity.git.policies[%d]", r.project, i)
		gpg := policy.GPG
		switch {
		case gpg == nil:
			return Signatures{}, fmt.Errorf("%s has no gpg: other demands than signatures by its keys cannot be checked", at)
		case gpg.Mode == "none":
			return Signatures{}, nil
		case gpg.Mode != "" && gpg.Mode != "head" && gpg.Mode != "strict":
			return Signatures{}, fmt.Errorf("%s.gpg.mode %q is not known: use none, head or strict", at, gpg.Mode)
		case len(gpg.Keys) == 0:
			return Signatures{}, fmt.Errorf("%s.gpg.keys is empty: nobody may sign", at)
		default:
			return Signatures{Keys: gpg.Keys, History: gpg.Mode == "strict"}, nil
		}
	}
	return Signatures{}, nil
}

func concerns(policy v1alpha1.SourceIntegrityGitPolicy, repo string) bool {
	for _, r := range policy.Repos {
		if repositoryPattern(r.URL).matches(normalised(repo)) {
			return true
		}
	}
	return false
}
