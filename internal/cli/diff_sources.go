// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/source"
)

// diffSources are the flags that put something else in the place of what an
// Application's sources name.
type diffSources struct {
	revision     string
	revisions    []string
	positions    []int
	local        []string
	localSources []string
}

func (d *diffSources) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&d.revision, "revision", "", "compare with this revision instead of the target revision (of the first source)")
	f.StringSliceVar(&d.revisions, "revisions", nil, "compare with these revisions of the sources that --source-positions names")
	f.IntSliceVar(&d.positions, "source-positions", nil, "the sources, counted from 1, that --revisions are of")
	f.StringArrayVar(&d.local, "local", nil, "read the source from this directory; with several sources once per source")
	f.StringArrayVar(&d.localSources, "local-source", nil, "N=DIR: read source N, counted from 1, from this directory")
}

// isLocal tells whether a directory of this machine stands in for a source.
func (d *diffSources) isLocal() bool { return len(d.local)+len(d.localSources) > 0 }

// given tells whether anything stands in for what sources name.
func (d *diffSources) given() bool { return d.revision != "" || len(d.revisions) > 0 || d.isLocal() }

// sourcesOf are the sources of an Application, to be changed in place.
func sourcesOf(app *v1alpha1.Application) []*v1alpha1.ApplicationSource {
	var list []*v1alpha1.ApplicationSource
	for i := range app.Spec.Sources {
		list = append(list, &app.Spec.Sources[i])
	}
	if len(list) == 0 && app.Spec.Source != nil {
		list = append(list, app.Spec.Source)
	}
	return list
}

// setRevisions puts the revisions asked for in the place of target revisions.
func (d *diffSources) setRevisions(app *v1alpha1.Application) error {
	sources := sourcesOf(app)
	if d.revision != "" && len(sources) > 0 {
		sources[0].TargetRevision = d.revision
	}
	if len(d.revisions) != len(d.positions) {
		return usageError("%d --revisions and %d --source-positions: give one position per revision", len(d.revisions), len(d.positions))
	}
	for i, n := range d.positions {
		if n < 1 || n > len(sources) {
			return usageError("--source-positions: application %q has no source %d", app.Name, n)
		}
		sources[n-1].TargetRevision = d.revisions[i]
	}
	return nil
}

// open opens the directories that stand in the place of sources. The paths of
// these sources become those of the directories.
func (d *diffSources) open(app *v1alpha1.Application) (map[int]source.Tree, error) {
	sources := sourcesOf(app)
	dirs := map[int]string{}
	if n := len(d.local); n > 0 && n != len(sources) {
		return nil, usageError("--local was given %d times, but application %q has %d sources: give it once per source, or --local-source N=DIR", n, app.Name, len(sources))
	}
	for i, dir := range d.local {
		dirs[i] = dir
	}
	for _, flag := range d.localSources {
		number, dir, ok := strings.Cut(flag, "=")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || dir == "" {
			return nil, usageError("--local-source %q: want N=DIR", flag)
		}
		if n < 1 || n > len(sources) {
			return nil, usageError("--local-source %q: application %q has no source %d", flag, app.Name, n)
		}
		dirs[n-1] = dir
	}
	trees := map[int]source.Tree{}
	for i, dir := range dirs {
		tree, err := openLocalSource(sources[i], dir)
		if err != nil {
			return nil, err
		}
		trees[i] = tree
	}
	return trees, nil
}

// openLocalSource opens the repository around a directory, from which the source
// may read what lies beside it. A source that only lends its files has no path:
// the directory is its repository. A chart from a registry is what is in the
// directory.
func openLocalSource(src *v1alpha1.ApplicationSource, dir string) (source.Tree, error) {
	if src.Chart != "" || src.Path == "" && src.Ref != "" {
		src.Chart, src.Path = "", pathOfWhole(src)
		return source.OpenLocal(dir)
	}
	repo, err := openLocalRepo(dir)
	if err != nil {
		return nil, err
	}
	if src.Path, err = repo.rel(dir); err != nil {
		return nil, err
	}
	return source.OpenLocal(filepath.Clean(repo.dir))
}

// pathOfWhole is the path of a source whose directory is all there is: none for
// one that only lends its files.
func pathOfWhole(src *v1alpha1.ApplicationSource) string {
	if src.Chart != "" {
		return "."
	}
	return ""
}
