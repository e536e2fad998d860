// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/render"
)

// localManifests renders a directory of this machine as the Application's source
// would be rendered. Cfg is the cluster that the Application lives in.
func localManifests(ctx context.Context, cfg *rest.Config, app *v1alpha1.Application, dir string) ([]string, error) {
	sources := app.Spec.EffectiveSources()
	if len(sources) != 1 {
		return nil, usageError("--local: application %q has %d sources: only one with a single source can be synced from a directory", app.Name, len(sources))
	}
	repo, err := openLocalRepo(dir)
	if err != nil {
		return nil, err
	}
	path, err := repo.rel(dir)
	if err != nil {
		return nil, err
	}
	source, namespace := sources[0], app.Spec.Destination.Namespace
	target := render.Target{AppName: app.Name, Namespace: namespace, Env: buildEnv(*app, source, app.Namespace)}
	if app.Spec.Destination.Server == v1alpha1.InClusterServer || app.Spec.Destination.Name == v1alpha1.InClusterName {
		c, err := cluster.New(cfg, cluster.Options{})
		if err != nil {
			return nil, err
		}
		defer c.Close()
		if target.KubeVersion, target.APIVersions, err = c.Version(ctx); err != nil {
			return nil, err
		}
	}
	result, err := render.Render(ctx, render.Source{
		Files: repo.files, Path: path, Helm: source.Helm, Kustomize: source.Kustomize, Directory: source.Directory, Plugin: source.Plugin,
	}, target)
	if err != nil {
		return nil, err
	}
	if len(result.Objects) == 0 {
		return nil, fmt.Errorf("%s renders no object: there is nothing to sync", dir)
	}
	manifests := make([]string, len(result.Objects))
	for i, obj := range result.Objects {
		data, err := obj.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", obj.Key().Short(), err)
		}
		manifests[i] = string(data)
	}
	return manifests, nil
}
