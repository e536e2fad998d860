// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// written is an object as a file, or a generator, has it.
type written struct{ kind, name, file string }

// placesOf finds the files that the resources of a build come from, in the order of
// the resources. Names may have got something in front and behind, and nothing of
// what belongs to the build may change them otherwise: then a file is certain if it
// is the only one with an object that a resource can come from.
func (s *snapshot) placesOf(built resmap.ResMap, root *types.Kustomization) ([]string, bool) {
	if len(root.BuildMetadata) > 0 {
		return nil, false
	}
	var all []written
	for dir := range s.seen {
		k := s.parsed[dir]
		if k.Kustomization == nil || rearranges(k.Kustomization) {
			return nil, false
		}
		found, ok := s.writtenIn(dir, k)
		if !ok {
			return nil, false
		}
		all = append(all, found...)
	}
	files := make([]string, 0, built.Size())
	for _, r := range built.Resources() {
		file := ""
		for _, w := range all {
			if w.kind != r.GetKind() || !strings.Contains(r.GetName(), w.name) || w.file == file {
				continue
			}
			if file != "" {
				return nil, false
			}
			file = w.file
		}
		if file == "" {
			return nil, false
		}
		files = append(files, file)
	}
	return files, true
}

// rearranges tells whether a kustomization may make resources that are in no file,
// or give them another kind or name.
func rearranges(k *types.Kustomization) bool {
	if len(k.Generators)+len(k.Transformers)+len(k.Validators)+len(k.Replacements) > 0 {
		return true
	}
	//nolint:staticcheck // deprecated fields are in use
	return slices.ContainsFunc(slices.Concat(k.Patches, k.PatchesJson6902), func(p types.Patch) bool {
		return p.Options != nil && (p.Options.AllowNameChange || p.Options.AllowKindChange)
	})
}

// writtenIn lists the objects that a kustomization itself brings.
func (s *snapshot) writtenIn(dir string, k parsed) ([]written, bool) {
	var all []written
	for _, g := range k.ConfigMapGenerator {
		all = append(all, written{"ConfigMap", g.Name, path.Join(dir, k.name)})
	}
	for _, g := range k.SecretGenerator {
		all = append(all, written{"Secret", g.Name, path.Join(dir, k.name)})
	}
	for _, entry := range slices.Concat(k.Resources, s.inflated[dir]) {
		file := path.Join(dir, entry)
		if strings.Contains(entry, "\n") {
			return nil, false
		}
		if s.memory.IsDir(at(file)) {
			continue
		}
		data, err := s.memory.ReadFile(at(file))
		if err != nil {
			return nil, false
		}
		objects, err := manifest.Decode(file, data)
		if err != nil {
			return nil, false
		}
		for _, o := range objects {
			if o.GetName() == "" {
				return nil, false
			}
			all = append(all, written{o.GetKind(), o.GetName(), file})
		}
	}
	return all, true
}
