// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// withOverrides merges .argocd-source.yaml and then .argocd-source-APP.yaml of
// the application's directory into the source's options, as JSON merge patches.
// They cannot change where the source is.
func withOverrides(src Source, app string) (Source, error) {
	for _, name := range []string{".argocd-source.yaml", ".argocd-source-" + app + ".yaml"} {
		file := path.Join(src.Path, name)
		data, err := fs.ReadFile(src.Files, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return src, fmt.Errorf("read %s: %w", file, err)
		}
		if src, err = override(src, data); err != nil {
			return src, fmt.Errorf("%s: %w", file, err)
		}
	}
	return src, nil
}

func override(src Source, patch []byte) (Source, error) {
	var changes map[string]any
	if err := yaml.Unmarshal(patch, &changes); err != nil {
		return src, errors.New(strings.Join(strings.Fields(err.Error()), " "))
	}
	options := v1alpha1.ApplicationSource{Helm: src.Helm, Kustomize: src.Kustomize, Directory: src.Directory, Plugin: src.Plugin}
	current, err := json.Marshal(options)
	if err != nil {
		return src, err
	}
	var content map[string]any
	if err := json.Unmarshal(current, &content); err != nil {
		return src, err
	}
	merged, err := json.Marshal(mergePatch(content, changes))
	if err != nil {
		return src, err
	}
	var result v1alpha1.ApplicationSource
	if err := json.Unmarshal(merged, &result); err != nil {
		return src, fmt.Errorf("is not a source: %w", err)
	}
	src.Helm, src.Kustomize, src.Directory, src.Plugin = result.Helm, result.Kustomize, result.Directory, result.Plugin
	return src, nil
}

// mergePatch applies a JSON merge patch (RFC 7386).
func mergePatch(target, patch map[string]any) map[string]any {
	if target == nil {
		target = map[string]any{}
	}
	for key, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(target, key)
		case map[string]any:
			inner, _ := target[key].(map[string]any)
			target[key] = mergePatch(inner, value)
		default:
			target[key] = value
		}
	}
	return target
}

// isZero reports whether options are absent or say nothing.
func isZero[T any](options *T) bool {
	return options == nil || reflect.ValueOf(*options).IsZero()
}

func valueOf[T any](options *T) T {
	if options == nil {
		var none T
		return none
	}
	return *options
}

// enumerate sorts names and joins them with "and".
func enumerate(names []string) string {
	slices.Sort(names)
	return strings.Join(names, " and ")
}
