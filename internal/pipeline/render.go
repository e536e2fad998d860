// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/cache"
	"github.com/wavetrain/wavetrain/internal/render/helm"
	"github.com/wavetrain/wavetrain/internal/render/kustomize"
	"github.com/wavetrain/wavetrain/internal/render/packed"
	"github.com/wavetrain/wavetrain/internal/render/tree"
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
	// GeneratePaths is what the Application's annotation of this name says: the paths
	// whose change matters.
	GeneratePaths string
	// NoLookup says that charts are not to ask the cluster, Lookup answers what they
	// ask; nil answers that there is nothing.
	NoLookup bool
	// KustomizeHelm lets kustomizations inflate charts, FileSchemes are those by
	// which charts read value files from other hosts.
	KustomizeHelm bool
	FileSchemes   []string
	// RemoteBases are what the URLs of repositories begin with that kustomizations may
	// have bases in, besides their own.
	RemoteBases []string
	// Verify refuses commits of repositories of bases; nil accepts all. Those that the
	// kustomization names in full need no further word.
	Verify func(ctx context.Context, url, revision string) error      `json:"-"`
	Lookup func(context.Context, helm.Lookup) (map[string]any, error) `json:"-"`
}

// Rendering is how sources are rendered and where renderings are kept.
type Rendering struct {
	// Render renders one source. Defaults to render.Render, in this process.
	Render render.Func
	// Variant stands for what Render does differently than usual, such as its
	// plugins.
	Variant string
	// Cache keeps renderings beyond this process; may be nil.
	Cache *cache.Cache
	// Local holds content that stands in the place of what sources name, by the
	// index of the source: a work tree that is to be looked at before it is pushed.
	Local map[int]source.Tree
	// KeepConfig keeps what repositories say of themselves, for those who check what
	// is rendered.
	KeepConfig bool
}

// Renderer renders sources from Git and remembers, per Application, the last
// renderings together with what they depend on.
type Renderer struct {
	store     *source.Store
	find      FindRepository
	rendering Rendering
	codec     func() (*packed.Codec, error)

	mu   sync.Mutex
	last map[string][]*part
	// anew names the applications that are to be rendered whatever is known.
	anew map[string]bool
	// stopped are the applications whose last rendering exceeded a limit.
	stopped map[string]stopped
}

// FindRepository returns what a project may use of what is known about the
// repository of a URL.
type FindRepository func(ctx context.Context, url, project string) (source.Repository, error)

// NewRenderer makes a Renderer that reads from store. Without find every
// repository is fetched from the URL that Applications name.
func NewRenderer(store *source.Store, find FindRepository, rendering Rendering) *Renderer {
	if find == nil {
		find = func(_ context.Context, url, _ string) (source.Repository, error) {
			return source.Repository{URL: url}, nil
		}
	}
	if rendering.Render == nil {
		rendering.Render = render.Render
	}
	return &Renderer{store: store, find: find, rendering: rendering, codec: sync.OnceValues(packed.NewCodec), last: map[string][]*part{}, anew: map[string]bool{}, stopped: map[string]stopped{}}
}

// Forget drops what is remembered of an application.
func (r *Renderer) Forget(app string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.last, app)
	delete(r.anew, app)
	delete(r.stopped, app)
}

// Rest drops what only makes the next looks quicker.
func (r *Renderer) Rest() {
	if codec, err := r.codec(); err == nil {
		codec.Rest()
	}
}

// RenderAnew has the next rendering of an application ask nobody what is known.
func (r *Renderer) RenderAnew(app string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.anew[app] = true
	delete(r.stopped, app)
}

// Resolve returns the revisions that the sources' target revisions name now, as
// an Application of the project sees them.
func (r *Renderer) Resolve(ctx context.Context, project string, sources []v1alpha1.ApplicationSource) ([]string, error) {
	revisions := make([]string, len(sources))
	for i, src := range sources {
		if local := r.rendering.Local[i]; local != nil {
			revisions[i] = local.Revision()
			continue
		}
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
	t.PassCredentials = src.Helm != nil && src.Helm.PassCredentials
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

// Render renders the sources at the given revisions. A source for which everything
// is unchanged that an earlier rendering read and asked is not rendered again.
func (r *Renderer) Render(ctx context.Context, req Request, revisions []string) (desired *Desired, err error) {
	trees := make([]source.Tree, len(req.Sources))
	others := elsewhere{renderer: r, req: req, found: map[kustomize.Elsewhere]fetched{}}
	defer func() {
		for _, tree := range slices.Concat(trees, others.trees()) {
			if tree != nil {
				err = errors.Join(err, tree.Close())
			}
		}
	}()
	for i, src := range req.Sources {
		if local := r.rendering.Local[i]; local != nil {
			trees[i] = local
			continue
		}
		target, err := r.target(ctx, req.Project, src)
		if err != nil {
			return nil, err
		}
		if trees[i], err = r.store.Open(ctx, target, revisions[i]); err != nil {
			return nil, err
		}
	}
	return r.renderAll(ctx, req, revisions, trees, &others)
}

func (r *Renderer) renderAll(ctx context.Context, req Request, revisions []string, trees []source.Tree, others *elsewhere) (*Desired, error) {
	refs := map[string]fs.FS{}
	for i, src := range req.Sources {
		if src.Ref != "" {
			refs[src.Ref] = trees[i]
		}
	}
	r.mu.Lock()
	anew := r.anew[req.App]
	r.mu.Unlock()
	desired := &Desired{Revisions: revisions, Tools: make([]string, len(req.Sources)), Reused: true}
	desired.readConfig(req.Sources, trees, r.rendering.KeepConfig)
	for i, src := range req.Sources {
		if src.Ref != "" && src.Path == "" && src.Chart == "" {
			continue
		}
		from, err := render.Effective(render.Source{
			Files: trees[i], Path: directoryOf(src), Refs: refs,
			Helm: src.Helm, Kustomize: src.Kustomize, Directory: src.Directory, Plugin: src.Plugin,
		}, req.Name)
		if err != nil {
			return nil, err
		}
		if from.Relevant, err = relevant(req.GeneratePaths, from.Path); err != nil {
			return nil, err
		}
		p, reused, err := r.part(ctx, req.App, anew, from, render.Target{
			AppName: req.Name, Namespace: req.Namespace,
			KubeVersion: req.KubeVersion, APIVersions: req.APIVersions,
			Env: buildVariables(req, src, revisions[i]), Lookup: req.Lookup, KustomizeHelm: req.KustomizeHelm, Fetch: r.fetchBy(req.FileSchemes), Elsewhere: others.fetch,
		})
		if err != nil && src.Chart != "" {
			return nil, fmt.Errorf("chart %s %s of %s: %w", src.Chart, revisions[i], src.RepoURL, err)
		}
		if err != nil {
			return nil, err
		}
		desired.Reused = desired.Reused && reused
		desired.Tools[i] = p.tool
		desired.parts = append(desired.parts, placed{part: p, source: i})
		desired.Warnings = append(desired.Warnings, p.remarks.Warnings...)
	}
	desired.Digest = combined(desired.parts)
	codec, err := r.codec()
	if err != nil {
		return nil, err
	}
	if desired.others, desired.otherRevisions, err = others.used(codec, desired.parts); err != nil {
		return nil, err
	}
	r.keep(req.App, desired.parts)
	return desired, nil
}

// relevant resolves the paths of an annotation: those that begin with a slash from
// the root of the repository, the others from the source's directory, which always
// matters.
func relevant(annotation, dir string) ([]string, error) {
	paths := []string{dir}
	for item := range strings.SplitSeq(annotation, ";") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		full, err := tree.Resolve(dir, item)
		if err != nil {
			return nil, fmt.Errorf("annotation %s: %w", v1alpha1.AnnotationManifestGeneratePaths, err)
		}
		paths = append(paths, full)
	}
	if len(paths) == 1 {
		return nil, nil
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// fetchBy returns what reads value files by these schemes; nothing if there are
// none.
func (r *Renderer) fetchBy(schemes []string) func(context.Context, string) ([]byte, error) {
	if len(schemes) == 0 {
		return nil
	}
	return func(ctx context.Context, url string) ([]byte, error) { return r.store.ValueFile(ctx, url, schemes) }
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
