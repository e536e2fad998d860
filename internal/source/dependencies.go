// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"
)

// maxNeighbours bounds how many charts of the same repository are followed.
const maxNeighbours = 64

// dependency is what Chart.yaml or Chart.lock says of one.
type dependency struct {
	Name       string `yaml:"name"`
	Version    string `yaml:"version"`
	Repository string `yaml:"repository"`
}

type dependencyFile struct {
	Dependencies []dependency `yaml:"dependencies"`
}

// withDependencies adds what the chart in the target's directory depends on, and
// what the repository does not hold itself.
func (s *Store) withDependencies(ctx context.Context, t Target, tree Tree) (Tree, error) {
	c := completion{store: s, target: t, tree: tree, mounts: map[string]Tree{}, seen: map[string]bool{}}
	if err := c.complete(ctx, path.Clean(t.Charts)); err != nil {
		return nil, errors.Join(err, tree.Close())
	}
	if len(c.mounts) == 0 {
		return tree, nil
	}
	return newOverlay(tree, c.mounts), nil
}

// completion looks for missing dependencies.
type completion struct {
	store  *Store
	target Target
	tree   Tree
	mounts map[string]Tree
	seen   map[string]bool
}

func (c *completion) complete(ctx context.Context, dir string) error {
	if c.seen[dir] || !fs.ValidPath(dir) {
		return nil
	}
	if c.seen[dir] = true; len(c.seen) > maxNeighbours {
		return fmt.Errorf("more than %d charts depend on each other in %s", maxNeighbours, c.target.Charts)
	}
	declared, from, err := c.read(dir, "Chart.yaml", "requirements.yaml")
	if err != nil || len(declared) == 0 {
		return err
	}
	locked, lock, err := c.read(dir, "Chart.lock", "requirements.lock")
	if err != nil {
		return err
	}
	for _, d := range declared {
		if err := c.dependency(ctx, dir, from, d, lockFile{lock, locked}); err != nil {
			return err
		}
	}
	return nil
}

// read returns the dependencies of the first file that names any.
func (c *completion) read(dir string, names ...string) (list []dependency, from string, err error) {
	for _, name := range names {
		from = path.Join(dir, name)
		list, err := c.store.declared.get(c.tree, from)
		if err != nil {
			return nil, "", fmt.Errorf("read dependencies in %s: %w", from, err)
		}
		if len(list) > 0 {
			return list, from, nil
		}
	}
	return nil, "", nil
}

// declarations remembers what files say of dependencies, by their ids: every look
// at an Application asks.
type declarations struct {
	mu    sync.Mutex
	known map[string][]dependency
}

// get returns what a file declares; one that is not there declares nothing.
// Whether a chart is there is for others to say.
func (d *declarations) get(tree Tree, name string) ([]dependency, error) {
	id := tree.ObjectID(name)
	if id == "" {
		return nil, nil
	}
	d.mu.Lock()
	list, ok := d.known[id]
	d.mu.Unlock()
	if ok {
		return list, nil
	}
	// What stands beside it is read next.
	if w, ok := tree.(interface{ Warm(name string) }); ok {
		w.Warm(path.Dir(name))
	}
	data, err := tree.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var file dependencyFile
	if bytes.Contains(data, []byte("dependencies")) {
		if err := yaml.Unmarshal(data, &file); err != nil {
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) > 20_000 {
		clear(d.known)
	}
	d.known[id] = file.Dependencies
	return file.Dependencies, nil
}

// lockFile says which versions somebody has settled on.
type lockFile struct {
	name         string
	dependencies []dependency
}

// version is the one to fetch of a dependency: the locked one, or else what is
// declared.
func (l lockFile) version(d dependency) (string, error) {
	i := slices.IndexFunc(l.dependencies, func(l dependency) bool {
		return l.Name == d.Name && sameChartRepository(l, d) && allows(d.Version, l.Version)
	})
	if i >= 0 {
		return l.dependencies[i].Version, nil
	}
	// A chart may depend on one twice, at two versions.
	i = slices.IndexFunc(l.dependencies, func(l dependency) bool { return l.Name == d.Name && sameChartRepository(l, d) })
	if i < 0 {
		return d.Version, nil
	}
	return "", fmt.Errorf("dependency %s is locked at %s in %s, which %q does not allow: run `helm dependency update` and commit the lock file",
		d.Name, l.dependencies[i].Version, path.Base(l.name), d.Version)
}

// allows tells whether a declared version, which may be a range, allows another. One
// that cannot be read allows all: whoever fetches it says what is wrong.
func allows(declared, version string) bool {
	constraint, err := semver.NewConstraint(declared)
	if err != nil {
		return true
	}
	v, err := semver.NewVersion(version)
	return err != nil || declared == version || constraint.Check(v)
}

func (c *completion) dependency(ctx context.Context, dir, from string, d dependency, lock lockFile) error {
	if rel, local := strings.CutPrefix(d.Repository, "file://"); local {
		return c.complete(ctx, path.Join(dir, rel))
	}
	if d.Repository == "" || c.vendored(dir, d.Name) {
		return nil
	}
	wanted, err := lock.version(d)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	repo, err := c.repository(ctx, d)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	wants := Target{Repository: repo, Chart: d.Name, Revision: wanted, PassCredentials: c.target.PassCredentials}
	version, err := c.store.Locate(ctx, wants)
	if err != nil {
		return fmt.Errorf("%s: dependency %s: %w", from, d.Name, err)
	}
	tree, err := c.store.openBare(ctx, wants, version)
	if err != nil {
		return fmt.Errorf("%s: dependency %s: %w", from, d.Name, err)
	}
	c.mounts[path.Join(dir, "charts", d.Name+"-"+version)] = tree
	return nil
}

// repository is where a dependency comes from: a URL, or the name that a repository
// Secret gives to one.
func (c *completion) repository(ctx context.Context, d dependency) (Repository, error) {
	name, named := strings.CutPrefix(d.Repository, "@")
	if !named {
		name, named = strings.CutPrefix(d.Repository, "alias:")
	}
	if !named {
		return c.target.Repository.related(ctx, d.Repository)
	}
	if find := c.target.Repository.Named; find != nil {
		if repo, ok, err := find(ctx, name); ok || err != nil {
			return repo, err
		}
	}
	return Repository{}, fmt.Errorf("dependency %s is in the repository %q, but no repository Secret of type helm has this name: write its URL, or add it with `wavetrain repo add URL --type helm --name %s`",
		d.Name, d.Repository, name)
}

func sameChartRepository(a, b dependency) bool {
	return a.Repository == b.Repository || a.Repository == "" || SameRepository(a.Repository, b.Repository)
}

// vendored tells whether somebody has put the chart into the charts directory.
func (c *completion) vendored(dir, name string) bool {
	entries, err := c.tree.ReadDir(path.Join(dir, "charts"))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		if e.IsDir() {
			if e.Name() == name {
				return true
			}
			return c.chartName(path.Join(dir, "charts", e.Name())) == name
		}
		rest, ok := strings.CutPrefix(e.Name(), name+"-")
		return ok && strings.HasSuffix(rest, ".tgz") && rest[0] >= '0' && rest[0] <= '9' || ok && strings.HasPrefix(rest, "v")
	})
}

func (c *completion) chartName(dir string) string {
	data, err := c.tree.ReadFile(path.Join(dir, "Chart.yaml"))
	if err != nil {
		return ""
	}
	var chart struct {
		Name string `yaml:"name"`
	}
	if yaml.Unmarshal(data, &chart) != nil {
		return ""
	}
	return chart.Name
}
