// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/render/helm"
	"github.com/wavetrain/wavetrain/internal/render/kustomize"
	"github.com/wavetrain/wavetrain/internal/render/trace"
)

// Key identifies what a rendering depends on besides its trace: where the source
// is and its options. Sources that Effective made are equal if their keys are.
func Key(src Source) (string, error) {
	data, err := json.Marshal(struct {
		Path     string
		Refs     []string
		Relevant []string
		Options  v1alpha1.ApplicationSource
	}{src.Path, slices.Sorted(maps.Keys(src.Refs)), src.Relevant, v1alpha1.ApplicationSource{
		Helm: src.Helm, Kustomize: src.Kustomize, Directory: src.Directory, Plugin: src.Plugin,
	}})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// Holds tells whether rendering the source now would read and be answered what the
// trace says, and so give the same result.
func Holds(ctx context.Context, t trace.Trace, src Source, target Target) bool {
	tree := func(ref string) fs.FS {
		if ref == "" {
			return src.Files
		}
		if key, elsewhere := strings.CutPrefix(ref, elsewhereTree); elsewhere {
			return target.found(ctx, key)
		}
		return src.Refs[ref]
	}
	if !t.Holds(tree) {
		return false
	}
	for _, a := range t.Answers {
		answer, known := answerNow(ctx, a.Question, src, target)
		if !known || trace.Digest(answer) != a.Digest {
			return false
		}
	}
	return true
}

// Elsewhere lists what a rendering has taken from other places than its sources.
func Elsewhere(t trace.Trace) []kustomize.Elsewhere {
	var list []kustomize.Elsewhere
	for _, read := range t.Reads {
		if key, ok := strings.CutPrefix(read.Tree, elsewhereTree); ok {
			if e, ok := kustomize.ParseElsewhere(key); ok && !slices.Contains(list, e) {
				list = append(list, e)
			}
		}
	}
	return list
}

// found returns a tree from elsewhere as it is now, nil if there is none.
func (t Target) found(ctx context.Context, key string) fs.FS {
	e, ok := kustomize.ParseElsewhere(key)
	if !ok || t.Elsewhere == nil {
		return nil
	}
	files, _, err := t.Elsewhere(ctx, e)
	if err != nil {
		return nil
	}
	return files
}

// answerNow answers a question of an earlier rendering.
func answerNow(ctx context.Context, q trace.Question, src Source, target Target) (answer any, known bool) {
	of := func(i int) string {
		if i < len(q.Of) {
			return q.Of[i]
		}
		return ""
	}
	switch q.Kind {
	case trace.Variable:
		return target.Env[of(0)], true
	case trace.Allowed:
		return target.KustomizeHelm, true
	case trace.Cluster:
		return []any{target.KubeVersion, target.APIVersions}, true
	case trace.Release:
		identity, err := helm.IdentityOf(target.helmInput(src))
		return identity, err == nil
	case trace.APIVersions:
		return helm.ServedVersions(valueOf(src.Helm).APIVersions, target.APIVersions), true
	case trace.Serves:
		return slices.Contains(helm.ServedVersions(valueOf(src.Helm).APIVersions, target.APIVersions), of(0)), true
	case trace.Lookup:
		if target.Lookup == nil {
			return nil, true
		}
		object, err := target.Lookup(ctx, helm.Lookup{APIVersion: of(0), Kind: of(1), Namespace: of(2), Name: of(3)})
		return helm.LookupAnswer(object), err == nil
	case trace.Fetch:
		if target.Fetch == nil {
			return nil, false
		}
		content, err := target.Fetch(ctx, of(0))
		return string(content), err == nil
	default:
		return nil, false
	}
}

// helmInput is a source as package helm takes it.
func (t Target) helmInput(src Source) helm.Input {
	return helm.Input{
		Files: src.Files, Path: src.Path, Refs: src.Refs, Options: valueOf(src.Helm),
		AppName: t.AppName, Namespace: t.Namespace, KubeVersion: t.KubeVersion, APIVersions: t.APIVersions,
		Lookup: t.Lookup, Fetch: t.Fetch,
	}
}
