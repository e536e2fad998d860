// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package directory reads plain manifests from a directory of a repository's
// tree. It selects files; what is in them is the manifest room's business.
package directory

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render/tree"
)

// skipMarker in a file keeps it from being rendered.
const skipMarker = "+argocd:skip-file-rendering"

// maxBytes bounds the manifests of one directory, as in Argo CD.
const maxBytes = 10 << 20

// Render decodes the manifests in dir and evaluates the Jsonnet files. Expand
// substitutes build variables in what these are given.
func Render(files fs.FS, dir string, options v1alpha1.ApplicationSourceDirectory, expand func(string) string) ([]manifest.Object, []diag.Diagnostic, error) {
	choose, err := newSelection(options)
	if err != nil {
		return nil, nil, err
	}
	var objects []manifest.Object
	var warnings []diag.Diagnostic
	budget := tree.Budget{Limit: maxBytes}
	var machine *jsonnetMachine
	descend := func(string, fs.FileInfo) bool { return !options.Recurse }
	err = tree.Walk(files, dir, descend, func(f tree.File) error {
		if !choose.has(f.Rel) {
			return nil
		}
		data, err := budget.Read(files, f.Path)
		if err != nil || bytes.Contains(data, []byte(skipMarker)) {
			return err
		}
		if path.Ext(f.Path) == ".jsonnet" {
			if machine == nil {
				if machine, err = newJsonnet(files, &budget, options.Jsonnet, expand); err != nil {
					return err
				}
			}
			evaluated, err := machine.evaluate(f.Path)
			objects = append(objects, evaluated...)
			return err
		}
		decoded, err := manifest.Decode(f.Path, data)
		if err != nil && !looksLikeManifest(data) {
			warnings = append(warnings, diag.Diagnostic{
				Code: "not-a-manifest", Severity: diag.Info, At: manifest.Provenance{File: f.Path},
				Message: f.Path + " was left out: it is not a Kubernetes manifest",
				Hint:    "move it, name it in directory.exclude, or write " + skipMarker + " into it",
			})
			return nil
		}
		objects = append(objects, decoded...)
		return err
	})
	return objects, warnings, err
}

// looksLikeManifest separates a manifest with a fault, which is an error, from
// some other file that merely lies in the directory.
func looksLikeManifest(data []byte) bool {
	for _, word := range []string{"apiVersion", "kind", "metadata"} {
		if !bytes.Contains(data, []byte(word)) {
			return false
		}
	}
	return true
}

type selection struct {
	include, exclude *glob
	anyName          bool
}

func newSelection(options v1alpha1.ApplicationSourceDirectory) (selection, error) {
	s := selection{anyName: options.DisableExtensionFilter}
	for _, p := range []struct {
		field, pattern string
		into           **glob
	}{{"include", options.Include, &s.include}, {"exclude", options.Exclude, &s.exclude}} {
		if p.pattern == "" {
			continue
		}
		g, err := compileGlob(p.pattern)
		if err != nil {
			return s, fmt.Errorf("directory.%s: %q: %w", p.field, p.pattern, err)
		}
		*p.into = g
	}
	return s, nil
}

func (s selection) has(rel string) bool {
	if !s.anyName {
		switch path.Ext(rel) {
		case ".yaml", ".yml", ".json", ".jsonnet":
		default:
			return false
		}
	}
	if s.exclude != nil && s.exclude.match(rel) {
		return false
	}
	return s.include == nil || s.include.match(rel)
}
