// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/source"
)

// configMapKeys holds the keys that may sign commits.
const configMapKeys = "argocd-gpg-keys-cm"

// rendered renders the sources at the revisions, if they are signed as the project
// demands.
func (s *session) rendered(ctx context.Context, req pipeline.Request, revisions []string) (*pipeline.Desired, error) {
	for i, src := range req.Sources {
		if err := s.checkSignature(ctx, req.Project, src, revisions[i]); err != nil {
			return nil, err
		}
	}
	req.Verify = func(ctx context.Context, url, revision string) error {
		return s.checkSignature(ctx, req.Project, v1alpha1.ApplicationSource{RepoURL: url}, revision)
	}
	return s.renderer.Render(ctx, req, revisions)
}

// checkSignature concerns commits: charts have no signature that Argo CD knows.
func (s *session) checkSignature(ctx context.Context, project string, src v1alpha1.ApplicationSource, revision string) error {
	// A session that has not looked at its project yet must not let anything pass.
	if err := s.loadProject(ctx); err != nil {
		return err
	}
	demanded, err := s.permits.Signatures(src.RepoURL)
	if err != nil || len(demanded.Keys) == 0 {
		return err
	}
	repo, err := s.repositories.find(ctx, src.RepoURL, project)
	if err != nil {
		return err
	}
	if !(source.Target{Repository: repo, Chart: src.Chart}).IsGit() {
		return nil
	}
	keys, err := s.repositories.configMap(ctx, configMapKeys)
	if err != nil {
		return err
	}
	return s.opts.Sources.Verify(ctx, repo, revision, source.Keyring{Keys: keys, Allowed: demanded.Keys, History: demanded.History})
}

// refuseUnsigned refuses manifests from somebody's disk where signatures are
// demanded: nobody has signed those.
func (s *session) refuseUnsigned() error {
	if s.permits == nil {
		return fmt.Errorf("project %s has not been read yet: local manifests cannot be synced", s.app.Spec.ProjectName())
	}
	for _, src := range s.app.Spec.EffectiveSources() {
		demanded, err := s.permits.Signatures(src.RepoURL)
		if err != nil {
			return err
		}
		if len(demanded.Keys) > 0 {
			return fmt.Errorf("project %s demands signed commits: local manifests cannot be synced", s.app.Spec.ProjectName())
		}
	}
	return nil
}
