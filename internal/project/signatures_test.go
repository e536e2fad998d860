// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/project"
)

func TestSignatures(t *testing.T) {
	policy := func(url string, gpg *v1alpha1.SourceIntegrityGPG) v1alpha1.SourceIntegrityGitPolicy {
		return v1alpha1.SourceIntegrityGitPolicy{Repos: []v1alpha1.SourceIntegrityGitRepo{{URL: url}}, GPG: gpg}
	}
	const repo = "https://git.example.test/acme/deploy.git"
	old := []v1alpha1.SignatureKey{{KeyID: "A"}, {KeyID: "B"}}
	for name, c := range map[string]struct {
		reason   string
		keys     []v1alpha1.SignatureKey
		policies []v1alpha1.SourceIntegrityGitPolicy
		want     []string
		history  bool
		problem  string
	}{
		"nothing":      {"no demand", nil, nil, nil, false, ""},
		"keys":         {"for all repositories", old, nil, []string{"A", "B"}, false, ""},
		"policy":       {"policies take the place of keys", old, []v1alpha1.SourceIntegrityGitPolicy{policy("https://git.example.test/acme/*", &v1alpha1.SourceIntegrityGPG{Mode: "head", Keys: []string{"C"}})}, []string{"C"}, false, ""},
		"first":        {"the first that matches counts", nil, []v1alpha1.SourceIntegrityGitPolicy{policy("https://git.example.test/acme/*", &v1alpha1.SourceIntegrityGPG{Mode: "none"}), policy("*", &v1alpha1.SourceIntegrityGPG{Keys: []string{"C"}})}, nil, false, ""},
		"other":        {"a policy for another repository demands nothing here", nil, []v1alpha1.SourceIntegrityGitPolicy{policy("https://elsewhere.test/*", &v1alpha1.SourceIntegrityGPG{Keys: []string{"C"}})}, nil, false, ""},
		"strict":       {"all commits, not only the head", nil, []v1alpha1.SourceIntegrityGitPolicy{policy("*", &v1alpha1.SourceIntegrityGPG{Mode: "strict", Keys: []string{"C"}})}, []string{"C"}, true, ""},
		"unknown mode": {"a word from the future", nil, []v1alpha1.SourceIntegrityGitPolicy{policy("*", &v1alpha1.SourceIntegrityGPG{Mode: "all", Keys: []string{"C"}})}, nil, false, "policies[0].gpg.mode"},
		"unknown kind": {"a policy of another kind", nil, []v1alpha1.SourceIntegrityGitPolicy{policy("*", nil)}, nil, false, "has no gpg"},
		"nobody":       {"no key is no signature", nil, []v1alpha1.SourceIntegrityGitPolicy{policy("*", &v1alpha1.SourceIntegrityGPG{Mode: "head"})}, nil, false, "nobody may sign"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.AppProject{Spec: v1alpha1.AppProjectSpec{SignatureKeys: c.keys}}
			if c.policies != nil {
				p.Spec.SourceIntegrity = &v1alpha1.SourceIntegrity{Git: &v1alpha1.SourceIntegrityGit{Policies: c.policies}}
			}
			got, err := project.New(p).Signatures(repo)
			if !slices.Equal(got.Keys, c.want) || got.History != c.history || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%s: got %v, %v; want %v, %q", c.reason, got, err, c.want, c.problem)
			}
		})
	}
}
