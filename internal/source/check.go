// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"strings"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// Check asks a repository whether it can be read, and returns what it has in a few
// words.
func (s *Store) Check(ctx context.Context, repo Repository) (string, error) {
	switch {
	case repo.Kind == OCI || strings.HasPrefix(repo.URL, "oci://"):
		return s.artifacts.check(ctx, Target{Repository: repo})
	case repo.Kind == Helm:
		h, err := s.helmRepository(repo)
		if err != nil {
			return "", err
		}
		ix, err := h.index(ctx)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("a Helm repository with %d charts", len(ix.charts)), nil
	default:
		m, err := s.mirror(repo)
		if err != nil {
			return "", err
		}
		refs, err := m.refs(ctx)
		if err != nil {
			return "", err
		}
		branches := 0
		for name := range refs.byName {
			if strings.HasPrefix(name, "refs/heads/") {
				branches++
			}
		}
		return fmt.Sprintf("a Git repository with %d branches and %d tags", branches, len(refs.tags)), nil
	}
}

// check asks the registry itself: below the address there may be charts, of which
// it does not tell.
func (o *artifacts) check(ctx context.Context, t Target) (string, error) {
	host, _, _ := strings.Cut(ociReference(t), "/")
	registry, err := remote.NewRegistry(host)
	if err != nil {
		return "", o.fail(t, "read", Other, "the address is none of an OCI registry: "+err.Error(), err)
	}
	repo, err := o.repository(ctx, Target{Repository: t.Repository, Chart: "x"})
	if err != nil {
		return "", err
	}
	client, ok := repo.Client.(*auth.Client)
	if !ok {
		return "", fmt.Errorf("a registry client of type %T", repo.Client)
	}
	registry.Client, registry.PlainHTTP = client, repo.PlainHTTP
	if err := registry.Ping(ctx); err != nil {
		return "", o.trouble(ctx, t, "reach the registry of", err)
	}
	return "an OCI registry", nil
}
