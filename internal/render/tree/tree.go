// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package tree reads files of a repository's tree for the renderers: it keeps
// paths inside the repository, follows links inside it, and bounds what is read.
//
// It knows nothing of charts, kustomizations or manifests.
package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Bounds of a walk, so that one through links to parent directories ends: the
// directories below its start, and everything it meets.
const (
	maxDepth   = 64
	maxEntries = 200_000
)

// Resolve turns a path written in dir into a path of the tree: relative to
// dir, or to the root of the tree if it begins with a slash.
func Resolve(dir, name string) (string, error) {
	full := path.Join(dir, name)
	if strings.HasPrefix(name, "/") {
		full = path.Clean(strings.TrimLeft(name, "/"))
	}
	if full == ".." || strings.HasPrefix(full, "../") {
		return "", fmt.Errorf("path %s leaves the repository", name)
	}
	return full, nil
}

// File is a file found by Walk.
type File struct {
	// Path from the root of the tree.
	Path string
	// Rel is the path from the directory at which the walk began.
	Rel string
	// Info describes the file, or what a link leads to.
	Info fs.FileInfo
}

// Walk visits the files below dir in lexical order. A nil skip descends
// everywhere; otherwise skip tells which directories (relative to dir) to leave
// out. Links are followed within what files allows.
func Walk(files fs.FS, dir string, skip func(rel string, info fs.FileInfo) bool, visit func(File) error) error {
	w := walker{files: files, skip: skip, visit: visit}
	return w.walk(dir, ".", 0)
}

type walker struct {
	files fs.FS
	skip  func(string, fs.FileInfo) bool
	visit func(File) error
	met   int
}

func (w *walker) walk(dir, rel string, depth int) error {
	entries, err := fs.ReadDir(w.files, dir)
	if err != nil {
		return fmt.Errorf("read directory %s: %w", dir, reason(err))
	}
	if w.met += len(entries); w.met > maxEntries || depth > maxDepth {
		return fmt.Errorf("%s: too many files or directories (a link to a parent directory?)", dir)
	}
	for _, e := range entries {
		f := File{Path: path.Join(dir, e.Name()), Rel: path.Join(rel, e.Name())}
		if f.Info, err = fs.Stat(w.files, f.Path); err != nil {
			if e.Type()&fs.ModeSymlink != 0 {
				return fmt.Errorf("%s: the link leads nowhere inside the repository", f.Path)
			}
			return fmt.Errorf("read %s: %w", f.Path, reason(err))
		}
		switch {
		case f.Info.IsDir() && e.Name() == ".git":
		case f.Info.IsDir():
			if w.skip == nil || !w.skip(f.Rel, f.Info) {
				err = w.walk(f.Path, f.Rel, depth+1)
			}
		default:
			err = w.visit(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Budget bounds the bytes that one rendering reads.
type Budget struct {
	Limit int64
	used  int64
}

// Read reads a file and counts its size.
func (b *Budget) Read(files fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, reason(err))
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	if b.used += info.Size(); b.used > b.Limit {
		return nil, fmt.Errorf("%s: the files to render are larger than %d MiB together", name, b.Limit>>20)
	}
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, reason(err))
	}
	return data, nil
}

// reason strips operation and path from a file error: the caller has named
// them as the user knows them.
func reason(err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err
	}
	return err
}
