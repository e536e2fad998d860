// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/source"
)

// Request says what to render.
type Request struct {
	// App is the instance name: the Application's name, or "namespace_name"
	// outside the control namespace.
	App string
	// Name, AppNamespace and Project of the Application, for build variables.
	Name, AppNamespace, Project string
	// Sources are the effective sources.
	Sources []v1alpha1.ApplicationSource
	// Namespace is the destination namespace.
	Namespace string
	// KubeVersion and APIVersions of the destination.
	KubeVersion string
	APIVersions []string
}

// Desired is the rendered set of an Application at certain revisions.
type Desired struct {
	// Revisions are the resolved commits, in source order.
	Revisions []string
	// Tools that rendered the sources, in source order: Helm, Kustomize or
	// Directory; empty for a source that only lends its files.
	Tools []string
	// Objects is the rendered set, hooks included.
	Objects []manifest.Object
	// Digest of Objects, independent of their order.
	Digest   string
	Warnings []diag.Diagnostic
	// Reused is true when nothing that rendering reads had changed.
	Reused bool
}

// Renderer renders sources from Git and remembers, per Application, the last
// result together with what was read for it.
type Renderer struct {
	store *source.Store
	find  FindRepository

	mu   sync.Mutex
	last map[string]remembered
}

// remembered is a rendered set with all that it depends on.
type remembered struct {
	request string
	// reads holds, per source, path → object id of everything that was read.
	reads   []map[string]string
	desired Desired
}

// FindRepository returns what is known about the repository of a URL.
type FindRepository func(ctx context.Context, url string) (source.Repository, error)

// NewRenderer makes a Renderer that reads from store. Without find every
// repository is fetched from the URL that Applications name.
func NewRenderer(store *source.Store, find FindRepository) *Renderer {
	if find == nil {
		find = func(_ context.Context, url string) (source.Repository, error) {
			return source.Repository{URL: url}, nil
		}
	}
	return &Renderer{store: store, find: find, last: map[string]remembered{}}
}

// Forget drops what is remembered of an application.
func (r *Renderer) Forget(app string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.last, app)
}

// Resolve returns the commits that the sources' target revisions name now.
func (r *Renderer) Resolve(ctx context.Context, sources []v1alpha1.ApplicationSource) ([]string, error) {
	revisions := make([]string, len(sources))
	for i, src := range sources {
		if src.Chart != "" {
			return nil, fmt.Errorf("source %d: chart %q of %s: charts from Helm repositories are not supported yet, keep the chart in Git and use path", i+1, src.Chart, src.RepoURL)
		}
		repo, err := r.find(ctx, src.RepoURL)
		if err != nil {
			return nil, err
		}
		commit, err := r.store.Resolve(ctx, repo, src.TargetRevision)
		if err != nil {
			return nil, err
		}
		revisions[i] = commit
	}
	return revisions, nil
}

// Render renders the sources at the given commits. When everything that the
// last rendering of this application read is unchanged, its result is returned.
func (r *Renderer) Render(ctx context.Context, req Request, revisions []string) (desired *Desired, err error) {
	snapshots := make([]*source.Snapshot, len(req.Sources))
	defer func() {
		for _, snap := range snapshots {
			if snap != nil {
				err = errors.Join(err, snap.Close())
			}
		}
	}()
	for i, src := range req.Sources {
		repo, err := r.find(ctx, src.RepoURL)
		if err != nil {
			return nil, err
		}
		if snapshots[i], err = r.store.Snapshot(ctx, repo, revisions[i]); err != nil {
			return nil, err
		}
	}
	digest, err := requestDigest(req, revisions)
	if err != nil {
		return nil, err
	}
	if known, ok := r.recall(req.App, digest, snapshots); ok {
		known.Revisions, known.Reused = revisions, true
		return &known, nil
	}
	desired, err = renderAll(ctx, req, snapshots)
	if err != nil {
		return nil, err
	}
	desired.Revisions = revisions
	r.remember(req.App, digest, snapshots, desired)
	return desired, nil
}

func renderAll(ctx context.Context, req Request, snapshots []*source.Snapshot) (*Desired, error) {
	refs := map[string]fs.FS{}
	for i, src := range req.Sources {
		if src.Ref != "" {
			refs[src.Ref] = snapshots[i]
		}
	}
	desired := &Desired{Tools: make([]string, len(req.Sources))}
	for i, src := range req.Sources {
		if src.Ref != "" && src.Path == "" {
			continue
		}
		if src.Plugin != nil {
			return nil, fmt.Errorf("source %d: plugins are not supported", i+1)
		}
		result, err := render.Render(ctx, render.Source{
			Files: snapshots[i], Path: src.Path, Refs: refs,
			Helm: src.Helm, Kustomize: src.Kustomize, Directory: src.Directory,
		}, render.Target{
			AppName: req.Name, Namespace: req.Namespace,
			KubeVersion: req.KubeVersion, APIVersions: req.APIVersions,
			Env: buildVariables(req, src, snapshots[i].Commit),
		})
		if err != nil {
			return nil, err
		}
		for _, obj := range result.Objects {
			obj.Provenance.Source = i
			desired.Objects = append(desired.Objects, obj)
		}
		desired.Tools[i] = result.Tool
		desired.Warnings = append(desired.Warnings, result.Warnings...)
	}
	desired.Digest = manifest.Digest(desired.Objects)
	return desired, nil
}

// buildVariables are the variables that Argo CD lets Helm parameters use.
func buildVariables(req Request, src v1alpha1.ApplicationSource, commit string) map[string]string {
	return map[string]string{
		"ARGOCD_APP_NAME":                   req.Name,
		"ARGOCD_APP_NAMESPACE":              req.AppNamespace,
		"ARGOCD_APP_PROJECT_NAME":           req.Project,
		"ARGOCD_APP_REVISION":               commit,
		"ARGOCD_APP_REVISION_SHORT":         commit[:7],
		"ARGOCD_APP_REVISION_SHORT_8":       commit[:8],
		"ARGOCD_APP_SOURCE_REPO_URL":        src.RepoURL,
		"ARGOCD_APP_SOURCE_PATH":            src.Path,
		"ARGOCD_APP_SOURCE_TARGET_REVISION": src.TargetRevision,
	}
}

// requestDigest covers all of the input that is not in the repository. The
// commit is part of it only where a parameter uses it.
func requestDigest(req Request, revisions []string) (string, error) {
	data, err := json.Marshal(req)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	sum.Write(data)
	if strings.Contains(string(data), "ARGOCD_APP_REVISION") {
		for _, commit := range revisions {
			sum.Write([]byte(commit))
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (r *Renderer) recall(app, digest string, snapshots []*source.Snapshot) (Desired, bool) {
	r.mu.Lock()
	known, ok := r.last[app]
	r.mu.Unlock()
	if !ok || known.request != digest {
		return Desired{}, false
	}
	for i, reads := range known.reads {
		for name, id := range reads {
			if snapshots[i].ObjectID(name) != id {
				return Desired{}, false
			}
		}
	}
	return known.desired, true
}

func (r *Renderer) remember(app, digest string, snapshots []*source.Snapshot, desired *Desired) {
	reads := make([]map[string]string, len(snapshots))
	for i, snap := range snapshots {
		reads[i] = snap.Reads()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last[app] = remembered{request: digest, reads: reads, desired: *desired}
}
