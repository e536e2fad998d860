// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"io/fs"
)

// files is a tree that records what is read of it.
type files struct {
	fs.FS
	recorder *Recorder
	ref      string
	ids      Identified
}

var (
	_ fs.ReadDirFS  = files{}
	_ fs.ReadFileFS = files{}
	_ fs.StatFS     = files{}
)

// Files returns the tree of a ref with its reads recorded.
func (r *Recorder) Files(ref string, tree fs.FS) fs.FS {
	f := files{FS: tree, recorder: r, ref: ref}
	var ok bool
	if f.ids, ok = tree.(Identified); !ok {
		r.mu.Lock()
		r.partial = true
		r.mu.Unlock()
	}
	return f
}

// Whole records that all that lies at a path of a ref's tree was read.
func (r *Recorder) Whole(ref string, tree fs.FS, name string) {
	if f, ok := r.Files(ref, tree).(files); ok {
		f.record(name, "")
	}
}

func (f files) record(name, listing string) {
	if f.ids == nil || !fs.ValidPath(name) {
		return
	}
	key := [2]string{f.ref, name}
	f.recorder.mu.Lock()
	known, seen := f.recorder.reads[key]
	f.recorder.mu.Unlock()
	if seen && strictness(known.Listing) >= strictness(listing) {
		return
	}
	read := Read{Tree: f.ref, Path: name, ID: f.ids.ObjectID(name), Listing: listing}
	f.recorder.mu.Lock()
	f.recorder.reads[key] = read
	f.recorder.mu.Unlock()
}

// Open implements fs.FS.
func (f files) Open(name string) (fs.File, error) {
	f.record(name, "")
	return f.FS.Open(name)
}

// ReadFile implements fs.ReadFileFS.
func (f files) ReadFile(name string) ([]byte, error) {
	f.record(name, "")
	return fs.ReadFile(f.FS, name)
}

// Stat implements fs.StatFS. Of a directory only that it is there is recorded,
// which its listing tells as well.
func (f files) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(f.FS, name)
	if err == nil && info.IsDir() {
		f.record(name, isDirectory)
		return info, nil
	}
	f.record(name, "")
	return info, err
}

// isDirectory stands in for the listing of a directory that was not listed.
const isDirectory = "directory"

// strictness ranks what is recorded of a path: that there is a directory, what
// lies in it, its whole content.
func strictness(listing string) int {
	switch listing {
	case isDirectory:
		return 0
	case "":
		return 2
	default:
		return 1
	}
}

// ReadDir implements fs.ReadDirFS.
func (f files) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(f.FS, name)
	if err != nil {
		f.record(name, "")
		return entries, err
	}
	f.record(name, Listing(entries))
	return entries, nil
}
