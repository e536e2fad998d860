// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

// overlay shows trees at places of another one. Nothing is written anywhere.
type overlay struct {
	base   Tree
	mounts map[string]Tree

	mu    sync.Mutex
	reads map[string]string
}

func newOverlay(base Tree, mounts map[string]Tree) *overlay {
	return &overlay{base: base, mounts: mounts, reads: map[string]string{}}
}

// Revision implements Tree.
func (o *overlay) Revision() string { return o.base.Revision() }

// Close implements Tree.
func (o *overlay) Close() error {
	errs := []error{o.base.Close()}
	for _, t := range o.mounts {
		errs = append(errs, t.Close())
	}
	return errors.Join(errs...)
}

// Reads implements Tree.
func (o *overlay) Reads() map[string]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.reads)
}

// note records a look at a path.
func (o *overlay) note(name string) {
	id := o.ObjectID(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reads[name] = id
}

// Warm prepares the tree below for reading a directory.
func (o *overlay) Warm(name string) {
	t, rel := o.at(name)
	if w, ok := t.(interface{ Warm(name string) }); ok {
		w.Warm(rel)
	}
}

// ObjectID implements Tree. A directory that has mounts in it is what it is below
// them, and what they are.
func (o *overlay) ObjectID(name string) string {
	if t, rel := o.at(name); t != o.base {
		return t.ObjectID(rel)
	}
	inside := o.inside(name)
	if len(inside) == 0 {
		return o.base.ObjectID(name)
	}
	var all strings.Builder
	all.WriteString(o.base.ObjectID(name))
	for _, at := range inside {
		all.WriteString("\x00" + at + "\x00" + o.mounts[at].ObjectID("."))
	}
	return "mixed-" + sha256Hex([]byte(all.String()))
}

// at is the tree that a path belongs to, and the path in it.
func (o *overlay) at(name string) (Tree, string) {
	for at, t := range o.mounts {
		if name == at {
			return t, "."
		}
		if rel, ok := strings.CutPrefix(name, at+"/"); ok {
			return t, rel
		}
	}
	return o.base, name
}

// inside lists the mounts below a directory, sorted.
func (o *overlay) inside(name string) []string {
	var list []string
	for at := range o.mounts {
		if name == "." || strings.HasPrefix(at, name+"/") {
			list = append(list, at)
		}
	}
	slices.Sort(list)
	return list
}

// Open implements fs.FS.
func (o *overlay) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	o.note(name)
	t, rel := o.at(name)
	if rel != "." && t != o.base || t == o.base && len(o.inside(name)) == 0 {
		return t.Open(rel)
	}
	entries, err := o.ReadDir(name)
	if err != nil {
		return nil, err
	}
	return &dir{info: info{entry: entry{mode: modeTree, name: path.Base(name)}}, entries: entries}, nil
}

// ReadFile implements fs.ReadFileFS.
func (o *overlay) ReadFile(name string) ([]byte, error) {
	o.note(name)
	t, rel := o.at(name)
	return t.ReadFile(rel)
}

// Stat implements fs.StatFS.
func (o *overlay) Stat(name string) (fs.FileInfo, error) {
	o.note(name)
	t, rel := o.at(name)
	if t != o.base && rel == "." || t == o.base && len(o.inside(name)) > 0 {
		return &info{entry: entry{mode: modeTree, name: path.Base(name)}}, nil
	}
	return t.Stat(rel)
}

// ReadDir implements fs.ReadDirFS.
func (o *overlay) ReadDir(name string) ([]fs.DirEntry, error) {
	o.note(name)
	t, rel := o.at(name)
	entries, err := t.ReadDir(rel)
	if t != o.base {
		return entries, err
	}
	inside := o.inside(name)
	if err != nil && len(inside) == 0 {
		return nil, err
	}
	for _, at := range inside {
		rest := at
		if name != "." {
			rest = strings.TrimPrefix(at, name+"/")
		}
		first, _, _ := strings.Cut(rest, "/")
		if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == first }) {
			entries = append(entries, &info{entry: entry{mode: modeTree, name: first}})
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}
