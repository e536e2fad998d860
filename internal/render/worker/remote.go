// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"
)

// remote is a tree on the other side of the pipe. Each directory and each file is
// asked for once.
type remote struct {
	worker *worker
	tree   string
	// known holds what has been asked for; a nil entry is a path with nothing.
	known map[string]*entry
	lists map[string][]entry
	// links are listed and not known: what they lead to has to be asked for.
	links map[string]bool
}

var (
	_ fs.ReadDirFS  = (*remote)(nil)
	_ fs.ReadFileFS = (*remote)(nil)
	_ fs.StatFS     = (*remote)(nil)
)

func newRemote(w *worker, tree string) *remote {
	return &remote{worker: w, tree: tree, known: map[string]*entry{}, lists: map[string][]entry{}, links: map[string]bool{}}
}

// find returns the entry of a path: from the list of its directory if there is
// one, or else by asking.
func (r *remote) find(op, name string) (*entry, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if e, ok := r.known[name]; ok {
		if e == nil {
			return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		return e, nil
	}
	if _, listed := r.lists[path.Dir(name)]; listed && name != "." && !r.links[name] {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	a, err := r.worker.ask(question{Kind: askEntry, Tree: r.tree, Path: name})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.known[name] = nil
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	case err != nil:
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	r.known[name] = &a.Entry
	return &a.Entry, nil
}

// ObjectID returns the id of a path, empty for nothing.
func (r *remote) ObjectID(name string) string {
	e, err := r.find("stat", name)
	if err != nil {
		return ""
	}
	return e.ID
}

// ReadDir implements fs.ReadDirFS.
func (r *remote) ReadDir(name string) ([]fs.DirEntry, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	list, ok := r.lists[name]
	if !ok {
		a, err := r.worker.ask(question{Kind: askDirectory, Tree: r.tree, Path: name})
		if err != nil {
			return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
		}
		list = a.Entries
		r.learn(name, &a.Entry, list)
	}
	entries := make([]fs.DirEntry, len(list))
	for i := range list {
		entries[i] = &remoteInfo{remote: r, path: path.Join(name, list[i].Name), entry: &list[i]}
	}
	return entries, nil
}

// learn notes what lies in a directory.
func (r *remote) learn(name string, directory *entry, list []entry) {
	r.lists[name], r.known[name] = list, directory
	for i := range list {
		full := path.Join(name, list[i].Name)
		if fs.FileMode(list[i].Mode)&fs.ModeSymlink != 0 {
			r.links[full] = true
			continue
		}
		r.known[full] = &list[i]
	}
}

// Stat implements fs.StatFS.
func (r *remote) Stat(name string) (fs.FileInfo, error) {
	e, err := r.find("stat", name)
	if err != nil {
		return nil, err
	}
	return (&remoteInfo{remote: r, path: name, entry: e}).Info()
}

// ReadFile implements fs.ReadFileFS.
func (r *remote) ReadFile(name string) ([]byte, error) {
	e, err := r.find("open", name)
	if err != nil {
		return nil, err
	}
	if err := r.load(name, e); err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return slices.Clone(e.Content), nil
}

// load fetches the content of a file that did not come with its directory.
func (r *remote) load(name string, e *entry) error {
	switch {
	case fs.FileMode(e.Mode).IsDir():
		return errors.New("is a directory")
	case e.HasContent:
		return nil
	}
	a, err := r.worker.ask(question{Kind: askContent, Tree: r.tree, Path: name})
	if err != nil {
		return err
	}
	e.Content, e.Size, e.HasContent, e.HasSize = a.Content, int64(len(a.Content)), true, true
	return nil
}

// Open implements fs.FS.
func (r *remote) Open(name string) (fs.File, error) {
	e, err := r.find("open", name)
	if err != nil {
		return nil, err
	}
	info := remoteInfo{remote: r, path: name, entry: e}
	if info.IsDir() {
		entries, err := r.ReadDir(name)
		if err != nil {
			return nil, err
		}
		return &remoteDir{remoteInfo: info, entries: entries}, nil
	}
	data, err := r.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &remoteFile{remoteInfo: info, Reader: bytes.NewReader(data)}, nil
}

// remoteInfo describes an entry, as FileInfo and as DirEntry.
type remoteInfo struct {
	remote *remote
	path   string
	entry  *entry
}

func (i *remoteInfo) Name() string       { return path.Base(i.path) }
func (i *remoteInfo) IsDir() bool        { return i.Mode().IsDir() }
func (i *remoteInfo) Type() fs.FileMode  { return i.Mode().Type() }
func (i *remoteInfo) Mode() fs.FileMode  { return fs.FileMode(i.entry.Mode) }
func (i *remoteInfo) Size() int64        { return i.entry.Size }
func (i *remoteInfo) ModTime() time.Time { return time.Time{} }
func (i *remoteInfo) Sys() any           { return nil }

// Info implements fs.DirEntry.
func (i *remoteInfo) Info() (fs.FileInfo, error) {
	if i.IsDir() || i.entry.HasSize || i.Type()&fs.ModeSymlink != 0 {
		return i, nil
	}
	if err := i.remote.load(i.path, i.entry); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: i.path, Err: err}
	}
	return i, nil
}

type remoteFile struct {
	remoteInfo
	io.Reader
}

func (f *remoteFile) Stat() (fs.FileInfo, error) { return f.Info() }
func (f *remoteFile) Close() error               { return nil }

type remoteDir struct {
	remoteInfo
	entries []fs.DirEntry
	offset  int
}

func (d *remoteDir) Stat() (fs.FileInfo, error) { return d.Info() }
func (d *remoteDir) Close() error               { return nil }
func (d *remoteDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: errors.New("is a directory")}
}

// ReadDir implements fs.ReadDirFile.
func (d *remoteDir) ReadDir(n int) ([]fs.DirEntry, error) {
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
