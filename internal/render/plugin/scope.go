// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/trace"
)

// scope is the part of a repository that a plugin gets.
type scope struct {
	// paths are files and directories, patterns stand for files.
	paths, patterns []string
}

func newScope(src render.Source) scope {
	var s scope
	for _, p := range src.Relevant {
		if strings.ContainsAny(p, "*?[{") {
			s.patterns = append(s.patterns, p)
		} else {
			s.paths = append(s.paths, p)
		}
	}
	if len(src.Relevant) == 0 {
		s.paths = []string{"."}
	}
	return s
}

// has tells whether a file is in the scope.
func (s scope) has(file string) bool {
	return slices.ContainsFunc(s.paths, func(p string) bool { return below(p, file) }) ||
		slices.ContainsFunc(s.patterns, func(p string) bool { return doublestar.MatchUnvalidated(p, file) })
}

// leads tells whether a directory is in the scope or may hold something that is.
func (s scope) leads(dir string) bool {
	return len(s.patterns) > 0 || slices.ContainsFunc(s.paths, func(p string) bool { return below(p, dir) || below(dir, p) })
}

// below tells whether a path is, or lies in, another one.
func below(dir, name string) bool {
	return dir == "." || dir == name || strings.HasPrefix(name, dir+"/")
}

// record notes that all that a plugin gets was read: what it really reads nobody
// can tell.
func record(recorder *trace.Recorder, src render.Source) error {
	s := newScope(src)
	for _, p := range s.paths {
		recorder.Whole("", src.Files, path.Clean(p))
	}
	if len(s.patterns) == 0 {
		return nil
	}
	files := recorder.Files("", src.Files)
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if slices.ContainsFunc(s.patterns, func(p string) bool { return doublestar.MatchUnvalidated(p, name) }) {
			recorder.Whole("", src.Files, name)
		}
		return nil
	})
}
