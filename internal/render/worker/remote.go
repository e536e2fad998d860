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
	"strings"
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
		r.lists[name], r.known[name] = list, &a.Entry
		for i := range list {
			full := path.Join(name, list[i].Name)
			if fs.FileMode(list[i].Mode)&fs.ModeSymlink != 0 {
				r.links[full] = true
				continue
			}
			r.known[full] = &list[i]
		}
	}
	entries := make([]fs.DirEntry, len(list))
	for i := range list {
		entries[i] = &remoteInfo{remote: r, path: path.Join(name, list[i].Name), entry: &list[i]}
	}
	return entries, nil
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

// answers is the parent's side: what it says to questions about trees.
type answers struct {
	trees map[string]fs.FS
}

// Bounds of the content that comes with a directory, so that a directory with
// thousands of files does not bring those that nobody reads.
const (
	maxAlong     = 2 << 20
	maxFileAlong = 128 << 10
	maxAlongs    = 512
)

func (a answers) to(q question) *answer {
	tree, ok := a.trees[q.Tree]
	if !ok {
		return &answer{Missing: true}
	}
	switch q.Kind {
	case askDirectory:
		return directory(tree, q.Path)
	case askEntry:
		e, err := single(tree, q.Path)
		if err != nil {
			return refusal(err)
		}
		return &answer{Entry: e}
	case askContent:
		data, err := fs.ReadFile(tree, q.Path)
		if err != nil {
			return refusal(err)
		}
		return &answer{Content: data}
	default:
		return &answer{Fault: "a question of kind " + q.Kind + " is not understood"}
	}
}

func refusal(err error) *answer {
	if errors.Is(err, fs.ErrNotExist) {
		return &answer{Missing: true}
	}
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathError.Err
	}
	return &answer{Fault: strings.TrimSpace(err.Error())}
}

func idOf(tree fs.FS, name string) string {
	if ids, ok := tree.(interface{ ObjectID(name string) string }); ok {
		return ids.ObjectID(name)
	}
	return ""
}

func single(tree fs.FS, name string) (entry, error) {
	info, err := fs.Stat(tree, name)
	if err != nil {
		return entry{}, err
	}
	e := entry{Name: info.Name(), Mode: uint32(info.Mode()), ID: idOf(tree, name), Size: info.Size(), HasSize: true}
	if info.Mode().IsRegular() && e.Size <= maxFileAlong {
		if e.Content, err = fs.ReadFile(tree, name); err != nil {
			return entry{}, err
		}
		e.HasContent = true
	}
	return e, nil
}

// directory lists a directory, with the content of the first small files.
func directory(tree fs.FS, name string) *answer {
	list, err := fs.ReadDir(tree, name)
	if err != nil {
		return refusal(err)
	}
	a := &answer{
		Entry:   entry{Name: path.Base(name), Mode: uint32(fs.ModeDir | 0o555), ID: idOf(tree, name), HasSize: true},
		Entries: make([]entry, 0, len(list)),
	}
	var along int64
	for i, item := range list {
		full := path.Join(name, item.Name())
		e := entry{Name: item.Name(), Mode: uint32(item.Type()), ID: idOf(tree, full)}
		if item.Type().IsRegular() && i < maxAlongs && along < maxAlong {
			got, err := single(tree, full)
			if err != nil {
				return refusal(err)
			}
			along += int64(len(got.Content))
			e = got
		}
		a.Entries = append(a.Entries, e)
	}
	return a
}
