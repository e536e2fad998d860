// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// Signers are the ids of keys one of which must have signed a commit of the
// repository; nothing is demanded if there are none. A demand that is not
// understood is an error: what cannot be checked is not delivered.
func (r *Rules) Signers(repo string) ([]string, error) {
	if integrity := r.spec.SourceIntegrity; integrity != nil {
		return r.integrity(integrity, repo)
	}
	var ids []string
	for _, key := range r.spec.SignatureKeys {
		ids = append(ids, key.KeyID)
	}
	return ids, nil
}

// integrity reads the policies: the first that is for the repository counts.
func (r *Rules) integrity(in *v1alpha1.SourceIntegrity, repo string) ([]string, error) {
	if in.Git == nil {
		return nil, nil
	}
	for i, policy := range in.Git.Policies {
		if !concerns(policy, repo) {
			continue
		}
		at := fmt.Sprintf("project %s: spec.sourceIntegrity.git.policies[%d]", r.project, i)
		switch {
		case policy.GPG == nil:
			return nil, fmt.Errorf("%s has no gpg: other demands than signatures by its keys cannot be checked", at)
		case policy.GPG.Mode == "none":
			return nil, nil
		case policy.GPG.Mode == "strict":
			return nil, fmt.Errorf("%s.gpg.mode is strict: only the signature of the commit itself can be checked, use head", at)
		case policy.GPG.Mode != "" && policy.GPG.Mode != "head":
			return nil, fmt.Errorf("%s.gpg.mode %q is not known: use none or head", at, policy.GPG.Mode)
		case len(policy.GPG.Keys) == 0:
			return nil, fmt.Errorf("%s.gpg.keys is empty: nobody may sign", at)
		default:
			return policy.GPG.Keys, nil
		}
	}
	return nil, nil
}

func concerns(policy v1alpha1.SourceIntegrityGitPolicy, repo string) bool {
	for _, r := range policy.Repos {
		if repositoryPattern(r.URL).matches(normalised(repo)) {
			return true
		}
	}
	return false
}
