// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/unstable"
	"github.com/wavetrain/wavetrain/internal/report/waves"
	"github.com/wavetrain/wavetrain/internal/verify"
)

const defaultNamespace = "default"

// wavesCollector turns the arguments of "wavetrain waves" into planned services.
type wavesCollector struct {
	args  wavesArguments
	stdin io.Reader
	// repos by their directory, so that one repository is read through one file
	// system.
	repos map[string]*localRepo
	// follow adds the Applications that Applications bring along; seen are those
	// that have been added.
	follow bool
	seen   map[string]bool
	// root is the repository of the first argument.
	root     string
	services []waves.Service
	// planned are the same services with what checks need to know of them.
	planned  []planned
	warnings []diag.Diagnostic
	// piped is the digest of standard input.
	piped string
	// told is how many of them belong to services that have been planned.
	told int
	// restless are the fields of what was rendered last that differ each time.
	restless []render.Restless
	// strays are the Applications that were passed over.
	strays []stray
	// chance are the fields of what was rendered for the next plan that come out
	// differently each time, by the place of their objects; rendered counts those.
	chance   []unstable.Field
	rendered int
	// renderings is shared by collectors of several revisions.
	renderings *renderings
	// instead, when not nil, is done with the sources instead of rendering them.
	instead func(context.Context, render.Source, render.Target) error
}

// planned is a service with where it comes from.
type planned struct {
	plan *plan.Plan
	// objects are what the plan was made of.
	objects []manifest.Object
	repo    *localRepo
	// base is what the plan leads away from, by key; nil for nothing.
	base map[manifest.Key]manifest.Object
	// live is the cluster that it is planned for, nil without one.
	live verify.Live
	// app is nil for a chart, a directory or manifests; written is its manifest.
	app     *v1alpha1.Application
	written manifest.Object
	// restless are the fields that come out differently each time, warnings what else
	// there is to say about the rendering.
	restless []render.Restless
	// owners are the other Applications to which objects belong in the cluster.
	owners map[manifest.Key][]string
	// chance are the same by the places of their objects.
	chance   []unstable.Field
	warnings []diag.Diagnostic
	// file is where the Application is written, valueFiles the files of the
	// repository from which Helm has values.
	file       manifest.Provenance
	valueFiles []string
}

func newWavesCollector(args wavesArguments, stdin io.Reader) *wavesCollector {
	return &wavesCollector{args: args, stdin: stdin, repos: map[string]*localRepo{}, seen: map[string]bool{}, renderings: &renderings{}}
}

func (c *wavesCollector) collect(ctx context.Context) error {
	for _, in := range c.args.inputs {
		if err := c.add(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

func (c *wavesCollector) add(ctx context.Context, in string) error {
	if in == "-" {
		return c.addStdin()
	}
	info, err := os.Stat(in)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist", in)
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		return c.addDirectory(ctx, in)
	}
	return c.addFile(ctx, in)
}

func (c *wavesCollector) repo(start string) (*localRepo, error) {
	dir, err := repositoryRoot(start)
	if err != nil {
		return nil, err
	}
	if c.root == "" {
		c.root = dir
	}
	if r := c.repos[dir]; r != nil {
		return r, nil
	}
	r, err := openLocalRepo(dir)
	if err != nil {
		return nil, err
	}
	c.repos[dir] = r
	return r, nil
}

// addDirectory adds a chart, a kustomization or a directory of manifests.
func (c *wavesCollector) addDirectory(ctx context.Context, dir string) error {
	repo, err := c.repo(dir)
	if err != nil {
		return err
	}
	rel, err := repo.rel(dir)
	if err != nil {
		return err
	}
	if c.follow && holdsRepository(repo, rel) {
		return c.addRepository(ctx, repo)
	}
	src := render.Source{Files: repo.files, Path: rel}
	name := c.args.release
	chart, isChart, err := chartName(repo, rel)
	if err != nil {
		return err
	}
	if isChart {
		if err := c.useValues(&src, repo); err != nil {
			return err
		}
	} else if len(c.args.valueFiles)+len(c.args.set)+len(c.args.setString) > 0 {
		return usageError("%s is not a chart: --values and --set have no meaning for it", dir)
	}
	if name == "" {
		name = chart
	}
	if name == "" {
		name = filepath.Base(filepath.Join(repo.dir, filepath.FromSlash(rel)))
	}
	namespace := c.namespaceOr(defaultNamespace)
	objects, err := c.render(ctx, src, render.Target{AppName: name, Namespace: namespace})
	if err != nil {
		return err
	}
	if err := c.plan(name, namespace, objects, planned{repo: repo, valueFiles: valueFiles(src)}); err != nil {
		return err
	}
	return c.followChildren(ctx, repo, objects)
}

// chartName is the name in a directory's Chart.yaml.
func chartName(repo *localRepo, dir string) (name string, isChart bool, err error) {
	file := path.Join(dir, "Chart.yaml")
	data, err := repo.files.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	var chart struct {
		Name string `json:"name"`
	}
	if err := yaml.Unmarshal(data, &chart); err != nil {
		return "", false, fmt.Errorf("%s: %s", file, strings.Join(strings.Fields(err.Error()), " "))
	}
	return chart.Name, true, nil
}

// addFile adds the Applications of a file, or the manifests in it.
func (c *wavesCollector) addFile(ctx context.Context, file string) error {
	repo, err := c.repo(filepath.Dir(file))
	if err != nil {
		return err
	}
	rel, err := repo.rel(file)
	if err != nil {
		return err
	}
	data, err := repo.files.ReadFile(rel)
	if err != nil {
		return err
	}
	objects, err := manifest.Decode(rel, data)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(objects, isApplication) {
		name := c.args.release
		if name == "" {
			name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		}
		return c.plan(name, c.namespaceOr(defaultNamespace), objects, planned{repo: repo})
	}
	for _, o := range objects {
		if !isApplication(o) {
			continue
		}
		if err := c.addApplication(ctx, repo, o); err != nil {
			return err
		}
	}
	return nil
}

// addApplication renders an Application's sources from the local repository.
func (c *wavesCollector) addApplication(ctx context.Context, repo *localRepo, o manifest.Object) error {
	app, err := decodeApplication(o)
	if err != nil {
		return err
	}
	if id := app.Namespace + "/" + app.Name; c.follow && c.seen[id] {
		return nil
	} else if c.follow {
		c.seen[id] = true
	}
	namespace := c.namespaceOr(app.Spec.Destination.Namespace)
	sources := app.Spec.EffectiveSources()
	if len(sources) == 0 {
		return fmt.Errorf("%s:%d: Application %s has no source", o.Provenance.File, o.Provenance.Line, app.Name)
	}
	if away := elsewhere(repo, sources); away != "" && c.follow {
		c.strays = append(c.strays, stray{repo, o, away})
		return nil
	}
	refs := map[string]fs.FS{}
	for _, s := range sources {
		if !repo.has(s.RepoURL) || s.Chart != "" {
			return fmt.Errorf("Application %s: the source %s is not this repository (%s), only local sources can be shown", app.Name, join(s.RepoURL, s.Chart), repo.config.Repository)
		}
		if s.Ref != "" {
			refs[s.Ref] = repo.files
		}
	}
	of := planned{repo: repo, app: &app, file: o.Provenance, written: o}
	var objects []manifest.Object
	for i, s := range sources {
		if s.Path == "" && s.Ref != "" {
			continue
		}
		src := render.Source{Files: repo.files, Path: s.Path, Refs: refs, Helm: s.Helm, Kustomize: s.Kustomize, Directory: s.Directory, Plugin: s.Plugin}
		if err := c.useValues(&src, repo); err != nil {
			return err
		}
		rendered, err := c.render(ctx, src, render.Target{AppName: app.Name, Namespace: namespace, Env: buildEnv(app, s, namespace)})
		if err != nil {
			return fmt.Errorf("Application %s: %w", app.Name, err)
		}
		of.valueFiles = append(of.valueFiles, valueFiles(src)...)
		for _, r := range rendered {
			r.Provenance.Source = i
			objects = append(objects, r)
		}
	}
	name := app.Name
	if c.args.release != "" {
		name = c.args.release
	}
	if err := c.plan(name, namespace, objects, of); err != nil {
		return err
	}
	return c.followChildren(ctx, repo, objects)
}

func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// buildEnv are the build variables that do not depend on a commit.
func buildEnv(app v1alpha1.Application, s v1alpha1.ApplicationSource, namespace string) map[string]string {
	return map[string]string{
		"ARGOCD_APP_NAME":                   app.Name,
		"ARGOCD_APP_NAMESPACE":              namespace,
		"ARGOCD_APP_PROJECT_NAME":           app.Spec.ProjectName(),
		"ARGOCD_APP_SOURCE_PATH":            s.Path,
		"ARGOCD_APP_SOURCE_REPO_URL":        s.RepoURL,
		"ARGOCD_APP_SOURCE_TARGET_REVISION": s.TargetRevision,
	}
}

// useValues adds the values of the command line to a source's own.
func (c *wavesCollector) useValues(src *render.Source, repo *localRepo) error {
	a := c.args
	if len(a.valueFiles)+len(a.set)+len(a.setString) == 0 && a.release == "" {
		return nil
	}
	var helm v1alpha1.ApplicationSourceHelm
	if src.Helm != nil {
		helm = *src.Helm.DeepCopy()
	}
	if a.release != "" {
		helm.ReleaseName = a.release
	}
	for i, f := range a.valueFiles {
		name, err := c.valueFile(src, repo, f, i)
		if err != nil {
			return err
		}
		helm.ValueFiles = append(helm.ValueFiles, name)
	}
	for _, flag := range []struct {
		values []string
		text   bool
	}{{a.set, false}, {a.setString, true}} {
		for _, v := range flag.values {
			parameters, err := setParameters(v, flag.text)
			if err != nil {
				return err
			}
			helm.Parameters = append(helm.Parameters, parameters...)
		}
	}
	src.Helm = &helm
	return nil
}

// valueFile names a value file of the command line the way a source does: from
// the root of the repository, or as a file of another one.
func (c *wavesCollector) valueFile(src *render.Source, repo *localRepo, file string, i int) (string, error) {
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("value file %s does not exist", file)
	}
	if rel, err := repo.rel(file); err == nil {
		return "/" + rel, nil
	}
	other, err := c.repo(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	rel, err := other.rel(file)
	if err != nil {
		return "", err
	}
	ref := fmt.Sprintf("f%d", i)
	refs := maps.Clone(src.Refs)
	if refs == nil {
		refs = map[string]fs.FS{}
	}
	refs[ref] = other.files
	src.Refs = refs
	return "$" + ref + "/" + rel, nil
}

// setParameters takes the value of --set apart: assignments separated by commas
// that are neither escaped nor inside braces.
func setParameters(value string, text bool) ([]v1alpha1.HelmParameter, error) {
	var out []v1alpha1.HelmParameter
	start, depth := 0, 0
	for i := 0; i <= len(value); i++ {
		if i < len(value) {
			switch value[i] {
			case '\\':
				i++
				continue
			case '{':
				depth++
			case '}':
				depth--
			}
			if value[i] != ',' || depth > 0 {
				continue
			}
		}
		name, v, ok := strings.Cut(value[start:i], "=")
		if !ok || name == "" {
			return nil, usageError("--set %q: want name=value", value[start:i])
		}
		// A dollar sign is a dollar sign here, not the start of a build variable.
		out = append(out, v1alpha1.HelmParameter{Name: name, Value: strings.ReplaceAll(v, "$", "$$"), ForceString: text})
		start = i + 1
	}
	return out, nil
}

func (c *wavesCollector) render(ctx context.Context, src render.Source, target render.Target) ([]manifest.Object, error) {
	target.KubeVersion, target.APIVersions = c.args.kubeVersion, c.args.apiVersions
	if c.instead != nil {
		return nil, c.instead(ctx, src, target)
	}
	result, err := c.renderings.render(ctx, src, target)
	if err != nil {
		return nil, err
	}
	for _, field := range result.Unstable.Fields {
		field.Object += c.rendered
		c.chance = append(c.chance, field)
	}
	c.rendered += len(result.Objects)
	c.warnings = append(c.warnings, result.Warnings...)
	c.restless = append(c.restless, result.Restless...)
	return result.Objects, nil
}

func (c *wavesCollector) namespaceOr(namespace string) string {
	if c.args.namespace != "" {
		return c.args.namespace
	}
	return namespace
}

func (c *wavesCollector) plan(name, namespace string, objects []manifest.Object, of planned) error {
	external, _, err := of.repo.outside()
	if err != nil {
		return err
	}
	in := plan.Input{App: name, Namespace: namespace, Objects: objects, External: external}
	if of.app != nil {
		in.Server = join(of.app.Spec.Destination.Server, of.app.Spec.Destination.Name)
		in.Options = pipeline.PlanOptions(of.app, of.app.Spec.SyncOptionList())
		// All that may happen is shown: the first sync and the later ones. The namespace
		// that a sync makes is nobody's object.
		in.Options.HelmLifecycle, in.Options.CreateNamespace = false, false
	}
	of.plan, of.objects = plan.Build(in), objects
	of.restless, c.restless = c.restless, nil
	of.chance, c.chance, c.rendered = c.chance, nil, 0
	of.warnings, c.told = c.warnings[c.told:], len(c.warnings)
	c.planned = append(c.planned, of)
	c.services = append(c.services, waves.Service{Name: name, Plan: of.plan, Config: of.repo.config})
	return nil
}

// valueFiles are the files in the source's own repository that Helm has values
// from.
func valueFiles(src render.Source) []string {
	files := []string{path.Join(src.Path, "values.yaml")}
	if src.Helm == nil {
		return files
	}
	for _, f := range src.Helm.ValueFiles {
		switch {
		case strings.HasPrefix(f, "$"):
			_, f, _ = strings.Cut(f, "/")
		case strings.HasPrefix(f, "/"):
			f = strings.TrimPrefix(f, "/")
		default:
			f = path.Join(src.Path, f)
		}
		files = append(files, f)
	}
	return files
}

// digest identifies everything that was read.
func (c *wavesCollector) digest() string {
	sum := sha256.New()
	for i, dir := range slices.Sorted(maps.Keys(c.repos)) {
		files := c.repos[dir].files.read
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(sum, "%d %s %s\n", i, files[name], name)
		}
	}
	fmt.Fprintf(sum, "- %s\n", c.piped)
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}
