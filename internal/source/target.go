// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"strings"
)

// Target is what an Application's source asks for: a revision of a repository,
// or a version of a chart in it.
type Target struct {
	Repository Repository
	// Chart is the name of a chart in a Helm repository; empty for Git.
	Chart string
	// Revision as the Application has it: a branch, tag, commit, or a version
	// constraint. Empty is HEAD.
	Revision string
	// TagPrefix is what a tag begins with before the version that a constraint is
	// compared with.
	TagPrefix string
	// Charts is a directory that may hold a Helm chart: dependencies that are
	// declared there and missing appear below its charts directory. Empty for none.
	Charts string
	// PassCredentials gives the repository's login to other hosts that its index
	// names.
	PassCredentials bool
}

// kind is what the target's repository speaks.
func (t Target) kind() Kind {
	url := t.Repository.URL
	switch {
	case t.Repository.Kind == OCI, strings.HasPrefix(url, "oci://"):
		return OCI
	case t.Chart == "":
		return Git
	case isHTTP(url):
		return Helm
	default:
		// A chart in a registry, which Argo CD has without a scheme.
		return OCI
	}
}

// IsGit tells whether the target's revisions are commits.
func (t Target) IsGit() bool { return t.kind() == Git }

// Locate returns the revision that the target names now: a commit id, a chart
// version, the digest of an artifact.
func (s *Store) Locate(ctx context.Context, t Target) (string, error) {
	switch t.kind() {
	case OCI:
		return s.artifacts.locate(ctx, t)
	case Helm:
		h, err := s.helmRepository(t.Repository)
		if err != nil {
			return "", err
		}
		v, err := h.locate(ctx, t)
		return v.Version, err
	default:
		return s.resolve(ctx, t.Repository, t.Revision, t.TagPrefix)
	}
}

// Open returns the content of the target at a revision that Locate has returned.
// Close it after use.
func (s *Store) Open(ctx context.Context, t Target, revision string) (Tree, error) {
	tree, err := s.openBare(ctx, t, revision)
	if err != nil || t.Charts == "" {
		return tree, err
	}
	return s.withDependencies(ctx, t, tree)
}

func (s *Store) openBare(ctx context.Context, t Target, revision string) (Tree, error) {
	switch t.kind() {
	case OCI:
		return s.artifacts.open(ctx, t, revision)
	case Helm:
		h, err := s.helmRepository(t.Repository)
		if err != nil {
			return nil, err
		}
		return h.chart(ctx, t, revision)
	default:
		snap, err := s.Snapshot(ctx, t.Repository, revision)
		if err != nil {
			return nil, err
		}
		return snap, nil
	}
}

// Version identifies what the target's repository offers now: as long as it is the
// same, every revision names what it named before. It costs at most one question to
// the repository per RefsTTL or IndexTTL, however many ask.
func (s *Store) Version(ctx context.Context, t Target) (string, error) {
	switch t.kind() {
	case OCI:
		return s.artifacts.locate(ctx, t)
	case Helm:
		h, err := s.helmRepository(t.Repository)
		if err != nil {
			return "", err
		}
		ix, err := h.index(ctx)
		if err != nil {
			return "", err
		}
		return ix.digest, nil
	default:
		return s.refsVersion(ctx, t.Repository)
	}
}
