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
	"github.com/wavetrain/wavetrain/internal/render/packed"
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
	// Digest of the objects, independent of their order.
	Digest   string
	Warnings []diag.Diagnostic
	// Reused is true when nothing that rendering reads had changed.
	Reused bool

	// objects is the rendered set, or packed holds it.
	objects []manifest.Object
	packed  *packed.Set
}

// NewDesired makes a rendered set of objects that somebody handed over. It keeps
// them as they are.
func NewDesired(revisions []string, objects []manifest.Object) *Desired {
	return &Desired{Revisions: revisions, Digest: manifest.Digest(objects), objects: objects}
}

// Objects returns the rendered set, hooks included. It is unpacked when somebody
// asks: keep the list for as long as it is worked on, and no longer. The objects
// are shared and must not be changed.
func (d *Desired) Objects() ([]manifest.Object, error) {
	if d.packed == nil {
		return d.objects, nil
	}
	return d.packed.Objects()
}

// Renderer renders sources from Git and remembers, per Application, the last
// result together with what was read for it.
type Renderer struct {
	store *source.Store
	find  FindRepository
	codec func() (*packed.Codec, error)

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

// FindRepository returns what a project may use of what is known about the
// repository of a URL.
type FindRepository func(ctx context.Context, url, project string) (source.Repository, error)

// NewRenderer makes a Renderer that reads from store. Without find every
// repository is fetched from the URL that Applications name.
func NewRenderer(store *source.Store, find FindRepository) *Renderer {
	if find == nil {
		find = func(_ context.Context, url, _ string) (source.Repository, error) {
			return source.Repository{URL: url}, nil
		}
	}
	return &Renderer{store: store, find: find, codec: sync.OnceValues(packed.NewCodec), last: map[string]remembered{}}
}

// Forget drops what is remembered of an application.
func (r *Renderer) Forget(app string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.last, app)
}

// Resolve returns the revisions that the sources' target revisions name now, as
// an Application of the project sees them.
func (r *Renderer) Resolve(ctx context.Context, project string, sources []v1alpha1.ApplicationSource) ([]string, error) {
	revisions := make([]string, len(sources))
	for i, src := range sources {
		target, err := r.target(ctx, project, src)
		if err != nil {
			return nil, err
		}
		if revisions[i], err = r.store.Locate(ctx, target); err != nil {
			return nil, err
		}
	}
	return revisions, nil
}

// target is what a source asks the store for.
func (r *Renderer) target(ctx context.Context, project string, src v1alpha1.ApplicationSource) (source.Target, error) {
	repo, err := r.find(ctx, src.RepoURL, project)
	if err != nil {
		return source.Target{}, err
	}
	t := source.Target{Repository: repo, Chart: src.Chart, Revision: src.TargetRevision, TagPrefix: src.TagPrefix}
	if src.Kustomize == nil && src.Directory == nil && src.Plugin == nil {
		t.Charts = directoryOf(src)
	}
	return t, nil
}

// directoryOf is where the files of a source are: a chart's own tree begins with
// the chart.
func directoryOf(src v1alpha1.ApplicationSource) string {
	if src.Chart != "" && src.Path == "" {
		return "."
	}
	return src.Path
}

// Render renders the sources at the given revisions. When everything that the
// last rendering of this application read is unchanged, its result is returned.
func (r *Renderer) Render(ctx context.Context, req Request, revisions []string) (desired *Desired, err error) {
	trees := make([]source.Tree, len(req.Sources))
	defer func() {
		for _, tree := range trees {
			if tree != nil {
				err = errors.Join(err, tree.Close())
			}
		}
	}()
	for i, src := range req.Sources {
		target, err := r.target(ctx, req.Project, src)
		if err != nil {
			return nil, err
		}
		if trees[i], err = r.store.Open(ctx, target, revisions[i]); err != nil {
			return nil, err
		}
	}
	digest, err := requestDigest(req, revisions)
	if err != nil {
		return nil, err
	}
	if known, ok := r.recall(req.App, digest, trees); ok {
		known.Revisions, known.Reused = revisions, true
		return &known, nil
	}
	if desired, err = renderAll(ctx, req, revisions, trees); err != nil {
		return nil, err
	}
	codec, err := r.codec()
	if err != nil {
		return nil, err
	}
	if desired.packed, err = codec.Pack(desired.objects); err != nil {
		return nil, err
	}
	desired.Revisions, desired.objects = revisions, nil
	r.remember(req.App, digest, trees, desired)
	return desired, nil
}

func renderAll(ctx context.Context, req Request, revisions []string, trees []source.Tree) (*Desired, error) {
	refs := map[string]fs.FS{}
	for i, src := range req.Sources {
		if src.Ref != "" {
			refs[src.Ref] = trees[i]
		}
	}
	desired := &Desired{Tools: make([]string, len(req.Sources))}
	for i, src := range req.Sources {
		if src.Ref != "" && src.Path == "" && src.Chart == "" {
			continue
		}
		if src.Plugin != nil {
			return nil, fmt.Errorf("source %d: plugins are not supported", i+1)
		}
		result, err := render.Render(ctx, render.Source{
			Files: trees[i], Path: directoryOf(src), Refs: refs,
			Helm: src.Helm, Kustomize: src.Kustomize, Directory: src.Directory,
		}, render.Target{
			AppName: req.Name, Namespace: req.Namespace,
			KubeVersion: req.KubeVersion, APIVersions: req.APIVersions,
			Env: buildVariables(req, src, revisions[i]),
		})
		if err != nil {
			return nil, err
		}
		for _, obj := range result.Objects {
			obj.Provenance.Source = i
			desired.objects = append(desired.objects, obj)
		}
		desired.Tools[i] = result.Tool
		desired.Warnings = append(desired.Warnings, result.Warnings...)
	}
	desired.Digest = manifest.Digest(desired.objects)
	return desired, nil
}

// buildVariables are the variables that Argo CD lets Helm parameters use.
func buildVariables(req Request, src v1alpha1.ApplicationSource, commit string) map[string]string {
	return map[string]string{
		"ARGOCD_APP_NAME":                   req.Name,
		"ARGOCD_APP_NAMESPACE":              req.AppNamespace,
		"ARGOCD_APP_PROJECT_NAME":           req.Project,
		"ARGOCD_APP_REVISION":               commit,
		"ARGOCD_APP_REVISION_SHORT":         commit[:min(7, len(commit))],
		"ARGOCD_APP_REVISION_SHORT_8":       commit[:min(8, len(commit))],
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

func (r *Renderer) recall(app, digest string, trees []source.Tree) (Desired, bool) {
	r.mu.Lock()
	known, ok := r.last[app]
	r.mu.Unlock()
	if !ok || known.request != digest {
		return Desired{}, false
	}
	for i, reads := range known.reads {
		for name, id := range reads {
			if trees[i].ObjectID(name) != id {
				return Desired{}, false
			}
		}
	}
	return known.desired, true
}

func (r *Renderer) remember(app, digest string, trees []source.Tree, desired *Desired) {
	reads := make([]map[string]string, len(trees))
	for i, tree := range trees {
		reads[i] = tree.Reads()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last[app] = remembered{request: digest, reads: reads, desired: *desired}
}
