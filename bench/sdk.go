// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"maps"
	"slices"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// sdkLoop renders up to n of the services with the libraries alone, one after the
// other, and throws the text away.
func sdkLoop(ctx context.Context, services []monoService, n int) (work, error) {
	services = services[:min(n, len(services))]
	before, err := familyCPU()
	if err != nil {
		return work{}, err
	}
	began := time.Now()
	for _, s := range services {
		if err := ctx.Err(); err != nil {
			return work{}, err
		}
		each := kustomizeAlone
		if s.chart {
			each = helmAlone
		}
		if err := each(s); err != nil {
			return work{}, err
		}
	}
	wall := time.Since(began)
	after, err := familyCPU()
	return work{applications: len(services), rendered: len(services), wall: wall, cpu: after - before}, err
}

// helmAlone does what `helm template` does.
func helmAlone(s monoService) error {
	var files []*archive.BufferedFile
	texts := s.files("1.0.0")
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		files = append(files, &archive.BufferedFile{Name: name, Data: []byte(texts[name])})
	}
	chart, err := loader.LoadFiles(files)
	if err != nil {
		return err
	}
	values := map[string]any{}
	if err := chartutil.ProcessDependencies(chart, values); err != nil {
		return err
	}
	options := common.ReleaseOptions{Name: s.name, Namespace: "apps", Revision: 1, IsInstall: true}
	top, err := commonutil.ToRenderValues(chart, values, options, common.DefaultCapabilities)
	if err != nil {
		return err
	}
	rendered, err := engine.Render(chart, top)
	if err != nil {
		return err
	}
	_, _, err = releaseutil.SortManifests(rendered, nil, releaseutil.InstallOrder)
	return err
}

// kustomizeAlone does what `kustomize build` does.
func kustomizeAlone(s monoService) error {
	memory := filesys.MakeFsInMemory()
	for name, text := range base() {
		if err := memory.WriteFile("/base/"+name, []byte(text)); err != nil {
			return err
		}
	}
	for name, text := range s.files("1.0.0") {
		if err := memory.WriteFile("/"+s.path+"/"+name, []byte(text)); err != nil {
			return err
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(memory, "/"+s.path)
	if err != nil {
		return err
	}
	_, err = built.AsYaml()
	return err
}
