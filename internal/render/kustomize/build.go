// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render/helm"
	"github.com/wavetrain/wavetrain/internal/render/trace"
)

// Input is a kustomization and everything its build depends on.
type Input struct {
	// Files is the repository's tree, Path the kustomization's directory in it.
	Files   fs.FS
	Path    string
	Options v1alpha1.ApplicationSourceKustomize
	// Expand substitutes build variables in a text.
	Expand func(string) string
	// EnableHelm allows helmCharts, whose charts see the rest.
	EnableHelm  bool
	KubeVersion string
	APIVersions []string
	Trace       *trace.Recorder
	Witness     *helm.Witness
	// Elsewhere returns a base or chart of another place: its tree, and the directory
	// in it. It is nil where nothing is fetched.
	Elsewhere func(context.Context, Elsewhere) (fs.FS, string, error)

	// rootNamespace is the one that everything ends up in.
	rootNamespace string
}

// building admits one build at a time: Kustomize keeps the schema of the
// Kubernetes API in variables of the process and changes them while it builds.
var building sync.Mutex //nolint:gochecknoglobals // it guards variables of the process, so it is one

// Render builds the kustomization. It tells whether the build brought a schema of
// its own into the process.
func Render(ctx context.Context, in Input) ([]manifest.Object, bool, error) {
	s := newSnapshot(in.Files)
	if root, _, err := s.kustomization(in.Path); err == nil {
		in.rootNamespace = cmp.Or(in.Options.Namespace, root.Namespace)
	}
	s.charts = func(dir string, k *types.Kustomization) ([]string, error) { return s.inflate(ctx, in, dir, k) }
	if in.Elsewhere != nil {
		s.base = func(entry string) (string, error) { return s.fetch(ctx, in, Elsewhere{URL: entry}) }
	}
	objects, err := s.render(ctx, in)
	if err != nil {
		return nil, s.changesSchema, fmt.Errorf("kustomization %s: %w", in.Path, oneLine(err))
	}
	return objects, s.changesSchema, nil
}

func (s *snapshot) render(ctx context.Context, in Input) ([]manifest.Object, error) {
	if err := s.add(in.Path); err != nil {
		return nil, err
	}
	k, name, err := s.kustomization(in.Path)
	if err != nil {
		return nil, err
	}
	s.withCharts(in.Path, k)
	if err := edit(k, in, s); err != nil {
		return nil, err
	}
	file := at(path.Join(in.Path, name))
	if !reflect.ValueOf(in.Options).IsZero() || len(s.inflated[in.Path]) > 0 {
		if err := s.write(file, k); err != nil {
			return nil, err
		}
	}
	built, err := build(ctx, s, in.Path)
	if err != nil {
		return nil, err
	}
	// Kustomize tells where its resources come from, at the price of half the time
	// that a build takes. It is asked if it cannot be told otherwise.
	if files, ok := s.placesOf(built, k); ok {
		return s.decode(built, files)
	}
	keepsOrigin := slices.Contains(k.BuildMetadata, types.OriginAnnotations)
	if !keepsOrigin {
		k.BuildMetadata = append(slices.Clip(k.BuildMetadata), types.OriginAnnotations)
		if err := s.write(file, k); err != nil {
			return nil, err
		}
		if built, err = build(ctx, s, in.Path); err != nil {
			return nil, err
		}
	}
	files := make([]string, built.Size())
	for i, r := range built.Resources() {
		files[i] = originFile(r, in.Path)
		if !keepsOrigin {
			if err := r.SetOrigin(nil); err != nil {
				return nil, err
			}
		}
	}
	return s.decode(built, files)
}

// write puts a kustomization in the place of the one in the repository.
func (s *snapshot) write(file string, k *types.Kustomization) error {
	edited, err := yaml.Marshal(k)
	if err != nil {
		return err
	}
	return s.memory.WriteFile(file, edited)
}

func build(ctx context.Context, s *snapshot, dir string) (resmap.ResMap, error) {
	building.Lock()
	defer building.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.changesSchema {
		// Such a schema would stay for the builds that follow.
		defer openapi.ResetOpenAPI()
	}
	return krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(s.memory, at(dir))
}

// decode turns the result into objects that know the file they came from.
func (s *snapshot) decode(built resmap.ResMap, files []string) ([]manifest.Object, error) {
	var objects []manifest.Object
	for i, r := range built.Resources() {
		if err := nameVersion(r); err != nil {
			return nil, err
		}
		decoded, err := decodeOne(s.files.shown(files[i]), r)
		if err != nil {
			return nil, err
		}
		for i := range decoded {
			decoded[i].Provenance.Line = 0
		}
		objects = append(objects, decoded...)
	}
	return objects, nil
}

// decodeOne reads a resource from its nodes where it is certain that its text would
// say the same.
func decodeOne(file string, r *resource.Resource) ([]manifest.Object, error) {
	if content, ok := valueOf(r.YNode()); ok {
		return manifest.FromValue(file, content)
	}
	text, err := r.AsYAML()
	if err != nil {
		return nil, err
	}
	return manifest.Decode(file, text)
}

// toolVersion is the version of the command line tool that has the library's.
const toolVersion = "v5.8.2"

// nameVersion has the label of buildMetadata: [managedByLabel] name the version
// that the tool itself would name; the library only knows it inside of the tool.
func nameVersion(r *resource.Resource) error {
	labels := r.GetLabels()
	if !strings.HasPrefix(labels[konfig.ManagedbyLabelKey], "kustomize-") {
		return nil
	}
	labels[konfig.ManagedbyLabelKey] = "kustomize-" + toolVersion
	return r.SetLabels(labels)
}

func originFile(r *resource.Resource, dir string) string {
	origin, err := r.GetOrigin()
	switch {
	case err != nil || origin == nil:
		return dir
	case origin.Path != "":
		return path.Join(dir, origin.Path)
	default:
		return path.Join(dir, origin.ConfiguredIn)
	}
}

func oneLine(err error) error {
	if text := err.Error(); strings.Contains(text, "\n") {
		return errors.New(strings.Join(strings.Fields(text), " "))
	}
	return err
}
