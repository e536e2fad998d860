// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

func isApplication(o manifest.Object) bool {
	return o.GroupVersionKind().Group == "argoproj.io" && o.GetKind() == "Application"
}

// decodeApplication reads an Application; the error says where it is written.
func decodeApplication(o manifest.Object) (v1alpha1.Application, error) {
	var app v1alpha1.Application
	data, err := o.MarshalJSON()
	if err == nil {
		err = yaml.Unmarshal(data, &app)
	}
	if err != nil {
		return app, fmt.Errorf("%s:%d: Application %s: %w", o.Provenance.File, o.Provenance.Line, o.GetName(), err)
	}
	return app, nil
}

// followChildren adds the Applications among rendered objects whose sources are in
// the repository, each once: what an app of apps brings along.
func (c *wavesCollector) followChildren(ctx context.Context, repo *localRepo, objects []manifest.Object) error {
	if !c.follow {
		return nil
	}
	for _, o := range objects {
		if !isApplication(o) {
			continue
		}
		app, err := decodeApplication(o)
		if err != nil || !local(repo, app) {
			// What is wrong with it is found where it is the subject.
			continue
		}
		if err := c.addApplication(ctx, repo, o); err != nil {
			return err
		}
	}
	return nil
}

// local reports whether all sources of an Application are in a repository.
func local(repo *localRepo, app v1alpha1.Application) bool {
	sources := app.Spec.EffectiveSources()
	return len(sources) > 0 && !slices.ContainsFunc(sources, func(s v1alpha1.ApplicationSource) bool {
		return s.Chart != "" || !repo.has(s.RepoURL)
	})
}

// addRepository adds what a repository delivers: what its .wavetrain.yaml says is
// applied by hand, and otherwise every Application that lies in it.
func (c *wavesCollector) addRepository(ctx context.Context, repo *localRepo) error {
	files := repo.config.Bootstrap
	if len(files) == 0 {
		var err error
		if files, err = applicationFiles(repo); err != nil {
			return err
		}
	}
	if len(files) == 0 {
		return fmt.Errorf("%s: neither a chart, a kustomization nor Applications are in it", repo.dir)
	}
	for _, file := range files {
		if err := c.add(ctx, filepath.Join(repo.dir, filepath.FromSlash(file))); err != nil {
			return err
		}
	}
	return nil
}

// applicationFiles finds the files of a repository that hold Applications.
func applicationFiles(repo *localRepo) ([]string, error) {
	var files []string
	err := fs.WalkDir(repo.files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "templates" {
				return fs.SkipDir
			}
			return nil
		}
		if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" {
			return nil
		}
		data, err := fs.ReadFile(repo.files.FS, name)
		if err != nil || !bytes.Contains(data, []byte("kind: Application\n")) {
			return nil //nolint:nilerr // a file that cannot be read holds no Application that could be looked at
		}
		if objects, err := manifest.Decode(name, data); err == nil && slices.ContainsFunc(objects, isApplication) {
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

// holdsRepository reports whether a directory is the root of a repository and no
// source by itself.
func holdsRepository(repo *localRepo, rel string) bool {
	if rel != "." {
		return false
	}
	for _, name := range []string{"Chart.yaml", "kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if _, err := fs.Stat(repo.files.FS, name); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	if len(repo.config.Bootstrap) > 0 {
		return true
	}
	entries, err := fs.ReadDir(repo.files.FS, ".")
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && (path.Ext(e.Name()) == ".yaml" || path.Ext(e.Name()) == ".yml")
	})
}

// stray is an Application of which a source lies elsewhere, so that it is not looked
// at.
type stray struct {
	repo    *localRepo
	written manifest.Object
	source  string
}

// elsewhere names the first source that is not in the repository; empty if all are.
func elsewhere(repo *localRepo, sources []v1alpha1.ApplicationSource) string {
	for _, s := range sources {
		if !repo.has(s.RepoURL) || s.Chart != "" {
			return join(s.RepoURL, s.Chart)
		}
	}
	return ""
}
