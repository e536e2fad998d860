// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
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
}

// Locate returns the revision that the target names now: a commit id, or a chart
// version.
func (s *Store) Locate(ctx context.Context, t Target) (string, error) {
	if t.Chart != "" {
		return "", chartUnsupported(t)
	}
	return s.resolve(ctx, t.Repository, t.Revision, t.TagPrefix)
}

// Open returns the content of the target at a revision that Locate has returned.
// Close it after use.
func (s *Store) Open(ctx context.Context, t Target, revision string) (Tree, error) {
	if t.Chart != "" {
		return nil, chartUnsupported(t)
	}
	snap, err := s.Snapshot(ctx, t.Repository, revision)
	if err != nil {
		return nil, err
	}
	return snap, nil
}

func chartUnsupported(t Target) error {
	return fmt.Errorf("chart %q of %s: charts from Helm repositories are not supported yet, keep the chart in Git and use path", t.Chart, withoutCredentials(t.Repository.URL))
}
