// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/internal/source"
)

// Keys of a repository Secret. SecretKeyFetchURL is Wavetrain's own: where the
// repository is really fetched from.
const (
	SecretTypeRepository = "repository"
	SecretKeyURL         = "url"
	SecretKeyFetchURL    = "fetchURL"
)

// repositories finds repositories by the Secrets of the control namespace, in
// Argo CD's form.
type repositories struct {
	secrets   client.Reader
	namespace string
}

// find implements pipeline.FindRepository.
func (r repositories) find(ctx context.Context, url, _ string) (source.Repository, error) {
	var secrets corev1.SecretList
	err := r.secrets.List(ctx, &secrets, client.InNamespace(r.namespace), client.MatchingLabels{SecretTypeLabel: SecretTypeRepository})
	if err != nil {
		return source.Repository{}, fmt.Errorf("list repository Secrets: %w", err)
	}
	repo := source.Repository{URL: url}
	for i := range secrets.Items {
		data := secrets.Items[i].Data
		if source.SameRepository(string(data[SecretKeyURL]), url) {
			repo.FetchURL = string(data[SecretKeyFetchURL])
		}
	}
	return repo, nil
}
