// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/kustomize"
	"github.com/wavetrain/wavetrain/internal/render/packed"
	"github.com/wavetrain/wavetrain/internal/render/trace"
	"github.com/wavetrain/wavetrain/internal/source"
)

// elsewhere fetches what kustomizations take from other places than their
// repositories, for one rendering.
type elsewhere struct {
	renderer *Renderer
	req      Request

	mu    sync.Mutex
	found map[kustomize.Elsewhere]fetched
}

// fetched is a tree with what it was asked for.
type fetched struct {
	source.Tree
	from v1alpha1.ApplicationSource
}

// trees are those that were opened.
func (e *elsewhere) trees() []source.Tree {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []source.Tree
	for _, found := range e.found {
		list = append(list, found.Tree)
	}
	return list
}

// used are the sources and the revisions of what renderings have taken.
func (e *elsewhere) used(codec *packed.Codec, parts []placed) (sources []v1alpha1.ApplicationSource, revisions []string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.found) == 0 {
		return nil, nil, nil
	}
	taken := map[kustomize.Elsewhere]bool{}
	for _, p := range parts {
		var t trace.Trace
		if err := codec.Unmarshal(p.trace, &t); err != nil {
			return nil, nil, fmt.Errorf("read what a rendering depends on: %w", err)
		}
		for _, what := range render.Elsewhere(t) {
			if found, ok := e.found[what]; ok && !taken[what] {
				taken[what] = true
				sources, revisions = append(sources, found.from), append(revisions, found.Revision())
			}
		}
	}
	return sources, revisions, nil
}

// fetch returns the tree of a base or chart and the directory in it.
func (e *elsewhere) fetch(ctx context.Context, what kustomize.Elsewhere) (fs.FS, string, error) {
	target, dir := source.Target{Chart: what.Chart, Revision: what.Version}, "."
	url := what.URL
	if what.Chart == "" {
		base, err := kustomize.ParseBase(what.URL)
		if err != nil {
			return nil, "", err
		}
		if !begins(base.Repository, e.req.RemoteBases) {
			return nil, "", fmt.Errorf("the base %s is on another host, which this installation does not allow: vendor it into the repository, "+
				"or have its operator name %s in wavetrain.dev.kustomize.remoteBases of argocd-cm", what.URL, base.Repository)
		}
		url, dir, target.Revision = base.Repository, base.Path, base.Revision
	}
	e.mu.Lock()
	known, ok := e.found[what]
	e.mu.Unlock()
	if ok {
		return known.Tree, dir, nil
	}
	repo, err := e.renderer.find(ctx, url, e.req.Project)
	if err != nil {
		return nil, "", err
	}
	target.Repository = repo
	if what.Chart != "" {
		target.Charts = dir
	}
	revision, err := e.renderer.store.Locate(ctx, target)
	if err != nil {
		return nil, "", err
	}
	if what.Chart == "" && e.req.Verify != nil && revision != target.Revision {
		if err := e.req.Verify(ctx, url, revision); err != nil {
			return nil, "", err
		}
	}
	tree, err := e.renderer.store.Open(ctx, target, revision)
	if err != nil {
		return nil, "", err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.found[what] = fetched{tree, v1alpha1.ApplicationSource{RepoURL: url, Chart: what.Chart, TargetRevision: target.Revision}}
	return tree, dir, nil
}

// begins tells whether a URL is, or lies below, one of those that are allowed.
func begins(url string, allowed []string) bool {
	for _, prefix := range allowed {
		if !strings.HasSuffix(prefix, ":") {
			prefix = strings.TrimSuffix(prefix, "/") + "/"
		}
		if strings.HasPrefix(url+"/", prefix) {
			return true
		}
	}
	return false
}
