// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/wavetrain/wavetrain/internal/render/kustomize"
	"github.com/wavetrain/wavetrain/internal/source"
)

// elsewhere fetches what kustomizations take from other places than their
// repositories, for one rendering.
type elsewhere struct {
	renderer *Renderer
	req      Request

	mu    sync.Mutex
	found map[kustomize.Elsewhere]source.Tree
}

// trees are those that were opened.
func (e *elsewhere) trees() []source.Tree {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []source.Tree
	for _, tree := range e.found {
		list = append(list, tree)
	}
	return list
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
	tree := e.found[what]
	e.mu.Unlock()
	if tree != nil {
		return tree, dir, nil
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
	if tree, err = e.renderer.store.Open(ctx, target, revision); err != nil {
		return nil, "", err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.found[what] = tree
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
