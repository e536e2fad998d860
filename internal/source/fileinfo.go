// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"
)

// info describes a tree entry; it is both FileInfo and DirEntry.
type info struct {
	entry entry
	size  int64
	fsys  *Snapshot
	path  string
}

func (i *info) Name() string { return path.Base(i.entry.name) }
func (i *info) IsDir() bool {
	return i.entry.mode == modeTree || i.entry.mode == modeSubmodule
}
func (i *info) Type() fs.FileMode  { return i.Mode().Type() }
func (i *info) Size() int64        { return i.size }
func (i *info) ModTime() time.Time { return time.Time{} }
func (i *info) Sys() any           { return nil }

func (i *info) Mode() fs.FileMode {
	switch i.entry.mode {
	case modeTree, modeSubmodule:
		return fs.ModeDir | 0o555
	case modeSymlink:
		return fs.ModeSymlink | 0o444
	case modeExecutable:
		return 0o555
	default:
		return 0o444
	}
}

// Info implements fs.DirEntry; the size of a file is found out when it is asked for.
func (i *info) Info() (fs.FileInfo, error) {
	if i.fsys == nil || i.IsDir() || i.size != 0 {
		return i, nil
	}
	size, err := i.fsys.size(i.path, i.entry)
	if err != nil {
		return nil, err
	}
	i.size = size
	return i, nil
}

type file struct {
	info
	io.Reader
}

func (f *file) Stat() (fs.FileInfo, error) { return &f.info, nil }
func (f *file) Close() error               { return nil }

type dir struct {
	info
	entries []fs.DirEntry
	offset  int
}

func (d *dir) Stat() (fs.FileInfo, error) { return &d.info, nil }
func (d *dir) Close() error               { return nil }
func (d *dir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: fmt.Errorf("is a directory")}
}

// ReadDir implements fs.ReadDirFile.
func (d *dir) ReadDir(n int) ([]fs.DirEntry, error) {
	left := d.entries[d.offset:]
	if n <= 0 {
		d.offset = len(d.entries)
		return left, nil
	}
	if len(left) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(left))
	d.offset += n
	return left[:n], nil
}
