// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxLinks bounds how many symbolic links one path may pass through.
const maxLinks = 32

// Snapshot is the tree of one commit as a read-only file system. Symbolic links
// are followed inside the repository; one that leads out of it is an error.
// Submodules read as empty directories.
//
// It records what was read (Reads), which is exactly what a result made from it
// depends on.
type Snapshot struct {
	// URL is the repository, without credentials.
	URL string
	// Commit is the full commit id.
	Commit string

	objects *objects
	root    entry

	mu    sync.Mutex
	reads map[string]string
}

var _ Tree = (*Snapshot)(nil)

func openSnapshot(g git, dir, display, commit string) (*Snapshot, error) {
	objs, err := openObjects(g, dir)
	if err != nil {
		return nil, &Error{Op: "open commit " + short(commit) + " of", URL: display, Detail: err.Error(), Err: err}
	}
	_, data, err := objs.read(commit)
	if err == nil {
		if first, ok := bytes.CutPrefix(data, []byte("tree ")); ok && len(first) >= 40 {
			root := entry{mode: modeTree, name: ".", id: string(first[:40])}
			return &Snapshot{URL: display, Commit: commit, objects: objs, root: root, reads: map[string]string{}}, nil
		}
		err = fmt.Errorf("%s is not a commit", short(commit))
	}
	return nil, &Error{Op: "open commit " + short(commit) + " of", URL: display, Detail: err.Error(), Err: joinClose(err, objs)}
}

func joinClose(err error, objs *objects) error {
	if errClose := objs.close(); errClose != nil {
		return fmt.Errorf("%w; %w", err, errClose)
	}
	return err
}

// Revision implements Tree: the full commit id.
func (s *Snapshot) Revision() string { return s.Commit }

// Close ends the git process behind the snapshot.
func (s *Snapshot) Close() error { return s.objects.close() }

// ObjectID returns the git object id of the file or directory, or "" when there
// is none. Equal ids are equal content.
func (s *Snapshot) ObjectID(name string) string {
	e, err := s.lookup(name)
	if err != nil {
		return ""
	}
	return e.id
}

// Reads returns every path that was opened, listed or looked for so far, with
// the object id found there ("" for nothing). A later snapshot that gives the
// same ids for these paths gives the same result.
func (s *Snapshot) Reads() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.reads)
}

func (s *Snapshot) record(name, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads[name] = id
}

// Open implements fs.FS.
func (s *Snapshot) Open(name string) (fs.File, error) {
	e, err := s.find("open", name)
	if err != nil {
		return nil, err
	}
	if e.mode == modeTree || e.mode == modeSubmodule {
		entries, err := s.ReadDir(name)
		if err != nil {
			return nil, err
		}
		return &dir{info: info{entry: e}, entries: entries}, nil
	}
	data, err := s.blob("open", name, e)
	if err != nil {
		return nil, err
	}
	return &file{info: info{entry: e, size: int64(len(data))}, Reader: bytes.NewReader(data)}, nil
}

// ReadFile implements fs.ReadFileFS.
func (s *Snapshot) ReadFile(name string) ([]byte, error) {
	e, err := s.find("read", name)
	if err != nil {
		return nil, err
	}
	return s.blob("read", name, e)
}

func (s *Snapshot) blob(op, name string, e entry) ([]byte, error) {
	kind, data, err := s.objects.read(e.id)
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	if kind != "blob" {
		return nil, &fs.PathError{Op: op, Path: name, Err: fmt.Errorf("is a directory")}
	}
	return data, nil
}

// ReadDir implements fs.ReadDirFS. Entries are sorted by name.
func (s *Snapshot) ReadDir(name string) ([]fs.DirEntry, error) {
	e, err := s.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if e.mode == modeSubmodule {
		return nil, nil
	}
	if e.mode != modeTree {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fmt.Errorf("not a directory")}
	}
	entries, err := s.objects.tree(e.id)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	list := make([]fs.DirEntry, 0, len(entries))
	for _, child := range entries {
		full := path.Join(name, child.name)
		if child.mode == modeSymlink {
			target, err := s.lookup(full)
			if err != nil {
				// A dangling link is listed and fails when it is opened.
				list = append(list, &info{entry: child})
				continue
			}
			child.mode, child.id = target.mode, target.id
		}
		list = append(list, &info{entry: child, fsys: s, path: full})
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// Stat implements fs.StatFS.
func (s *Snapshot) Stat(name string) (fs.FileInfo, error) {
	e, err := s.find("stat", name)
	if err != nil {
		return nil, err
	}
	return (&info{entry: e, fsys: s, path: name}).Info()
}

// find is lookup that records the outcome and speaks in fs errors.
func (s *Snapshot) find(op, name string) (entry, error) {
	if !fs.ValidPath(name) {
		return entry{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	e, err := s.lookup(name)
	if err != nil {
		s.record(name, "")
		return entry{}, &fs.PathError{Op: op, Path: name, Err: err}
	}
	s.record(name, e.id)
	// What a link leads to goes by the link's name.
	e.name = path.Base(name)
	return e, nil
}

// lookup walks the tree to name and follows symbolic links.
func (s *Snapshot) lookup(name string) (entry, error) {
	links := 0
	return s.walk(path.Clean(name), &links)
}

func (s *Snapshot) walk(name string, links *int) (entry, error) {
	at := s.root
	if name == "." {
		return at, nil
	}
	var passed []string
	rest := strings.Split(name, "/")
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		if at.mode != modeTree {
			return entry{}, fs.ErrNotExist
		}
		children, err := s.objects.tree(at.id)
		if err != nil {
			return entry{}, err
		}
		i := slices.IndexFunc(children, func(e entry) bool { return e.name == part })
		if i < 0 {
			return entry{}, fs.ErrNotExist
		}
		at = children[i]
		if at.mode != modeSymlink {
			passed = append(passed, part)
			continue
		}
		if *links++; *links > maxLinks {
			return entry{}, fmt.Errorf("too many symbolic links")
		}
		_, target, err := s.objects.read(at.id)
		if err != nil {
			return entry{}, err
		}
		resolved := path.Join(path.Join(passed...), string(target))
		if path.IsAbs(string(target)) || resolved == ".." || strings.HasPrefix(resolved, "../") {
			return entry{}, fmt.Errorf("symbolic link %s leads out of the repository", path.Join(append(passed, part)...))
		}
		return s.walk(path.Join(append([]string{resolved}, rest...)...), links)
	}
	return at, nil
}

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

// Info implements fs.DirEntry; the size of a file is read when it is asked for.
func (i *info) Info() (fs.FileInfo, error) {
	if i.fsys == nil || i.IsDir() || i.size != 0 {
		return i, nil
	}
	data, err := i.fsys.blob("stat", i.path, i.entry)
	if err != nil {
		return nil, err
	}
	i.size = int64(len(data))
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
