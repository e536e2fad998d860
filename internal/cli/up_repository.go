// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/config"
	"github.com/wavetrain/wavetrain/internal/gitserver"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// commitPoll is how often `up` looks for a new commit in the directory.
const commitPoll = time.Second

// upRepository is a directory that is served in place of the repository that
// Applications name.
type upRepository struct {
	// dir is the directory as the user gave it.
	dir    string
	config config.Config
	// url is the URL it stands for, as the user wrote it; urls are that and others,
	// in all spellings.
	url    string
	urls   []string
	mirror *gitserver.Mirror
	server *gitserver.Server
	// commit is the one that is served.
	commit string
}

// openRepository starts to serve dir. With `repository` in .wavetrain.yaml the
// directory stands for that URL; without, the whole work tree stands for its
// remotes.
func openRepository(ctx context.Context, dir, work string, env []string) (*upRepository, error) {
	tree, err := gitserver.FindWorkTree(ctx, dir, env)
	if err != nil {
		return nil, err
	}
	r := &upRepository{dir: dir}
	if r.config, err = readConfig(dir); err != nil {
		return nil, err
	}
	serve, known := dir, []string{r.config.Repository}
	if r.config.Repository == "" {
		serve, known = tree.Top, tree.Remotes
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("%s: it is not known which repoURL this directory stands for: write `repository: URL` into %s, or add the remote with `git remote add origin URL`",
			dir, filepath.Join(dir, config.FileName))
	}
	r.url = withoutUser(known[0])
	for _, url := range known {
		r.urls = append(r.urls, spellings(url)...)
	}
	if r.mirror, err = gitserver.NewMirror(ctx, serve, filepath.Join(work, "served.git"), env); err != nil {
		return nil, err
	}
	if r.commit, err = r.mirror.Update(ctx); err != nil {
		return nil, err
	}
	r.server, err = gitserver.Listen(r.mirror.GitDir, env)
	return r, err
}

// readConfig reads .wavetrain.yaml, which need not exist.
func readConfig(dir string) (config.Config, error) {
	file := filepath.Join(dir, config.FileName)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return config.Config{}, nil
	}
	if err != nil {
		return config.Config{}, err
	}
	return config.Parse(file, data)
}

// rewrites maps the URLs to the one that is served.
func (r *upRepository) rewrites() map[string]string {
	m := make(map[string]string, len(r.urls))
	for _, url := range r.urls {
		m[url] = r.server.URL
	}
	return m
}

// serves tells whether url is one that the directory stands for.
func (r *upRepository) serves(url string) bool {
	return slices.ContainsFunc(r.urls, func(known string) bool { return canonicalURL(known) == canonicalURL(url) })
}

// follow sends every new commit until ctx ends. A commit that cannot be read is
// looked for again: somebody may be rebasing.
func (r *upRepository) follow(ctx context.Context) <-chan string {
	commits := make(chan string)
	go func() {
		ticker := time.NewTicker(commitPoll)
		defer ticker.Stop()
		last := r.commit
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			commit, err := r.mirror.Update(ctx)
			if err != nil || commit == last {
				continue
			}
			last = commit
			select {
			case <-ctx.Done():
				return
			case commits <- commit:
			}
		}
	}()
	return commits
}

// bootstrap returns the objects to apply first: those of the files that
// .wavetrain.yaml lists, else of all files in bootstrap/, else the Applications
// in the directory itself.
func (r *upRepository) bootstrap() ([]manifest.Object, error) {
	if len(r.config.Bootstrap) > 0 {
		var objects []manifest.Object
		for _, entry := range r.config.Bootstrap {
			found, err := r.decode(entry)
			if err != nil {
				return nil, fmt.Errorf("bootstrap of %s: %w", filepath.Join(r.dir, config.FileName), err)
			}
			objects = append(objects, found...)
		}
		return objects, nil
	}
	const folder = "bootstrap"
	if stat, err := os.Stat(filepath.Join(r.dir, folder)); err == nil && stat.IsDir() {
		objects, err := r.decode(folder)
		if err != nil || len(objects) > 0 {
			return objects, err
		}
	}
	all, err := r.decode(".")
	if err != nil {
		return nil, err
	}
	apps := slices.DeleteFunc(all, func(o manifest.Object) bool {
		return !slices.Contains([]string{"Application", "AppProject"}, o.GetKind()) || o.GroupVersionKind().Group != v1alpha1.GroupVersion().Group
	})
	if !slices.ContainsFunc(apps, func(o manifest.Object) bool { return o.GetKind() == "Application" }) {
		return nil, fmt.Errorf("%s: nothing to start with: looked for `bootstrap:` in %s, for manifests in %s and for Applications in %s",
			r.dir, config.FileName, filepath.Join(r.dir, folder), filepath.Join(r.dir, "*.yaml"))
	}
	return apps, nil
}

// decode reads a file, or all manifests in a folder, below the directory.
func (r *upRepository) decode(entry string) ([]manifest.Object, error) {
	if !filepath.IsLocal(filepath.FromSlash(entry)) {
		return nil, fmt.Errorf("%s leads out of %s", entry, r.dir)
	}
	full := filepath.Join(r.dir, filepath.FromSlash(entry))
	stat, err := os.Stat(full)
	if err != nil {
		return nil, err
	}
	files := []string{full}
	if stat.IsDir() {
		if files, err = manifestFiles(full); err != nil {
			return nil, err
		}
	}
	var objects []manifest.Object
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		found, err := manifest.Decode(file, data)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// manifestFiles are the files of a folder that look like manifests, sorted.
func manifestFiles(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		name := e.Name()
		if e.Type().IsRegular() && !strings.HasPrefix(name, ".") && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)) {
			files = append(files, filepath.Join(folder, name))
		}
	}
	return files, nil
}
