// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

// maxLinks bounds how many symbolic links one path may pass through.
const maxLinks = 32

// Snapshot is the tree of one commit, or of an archive, as a read-only file system. Symbolic links
// are followed inside the repository; one that leads out of it is an error.
// Submodules are read from their own repositories, at the commit that is recorded.
//
// It records what was read (Reads), which is exactly what a result made from it
// depends on.
type Snapshot struct {
	// URL is the repository, without credentials.
	URL string
	// Commit is the full commit id; of an archive its version or digest.
	Commit string

	// mirror is nil for what does not come from Git.
	mirror  *mirror
	objects reader
	root    entry
	// referred fetches what lies outside of the repository: submodules, and files
	// that Git LFS keeps.
	referred referred

	mu         sync.Mutex
	reads      map[string]string
	submodules map[string]*Snapshot
	modules    map[string]string
}

// reader gives out objects by their ids.
type reader interface {
	read(id string) (kind string, data []byte, err error)
	size(id string) (int64, error)
	tree(id string) (*listing, error)
}

// place is where a path leads: an entry, and the snapshot that it is read from,
// which inside a submodule is another one.
type place struct {
	entry
	in *Snapshot
}

var _ Tree = (*Snapshot)(nil)

func openSnapshot(ctx context.Context, m *mirror, repo Repository, commit string) (*Snapshot, error) {
	display := repo.Display()
	root, err := m.objects.root(commit)
	if err != nil {
		return nil, &Error{Op: "open commit " + short(commit) + " of", URL: display, Reason: Damaged, Detail: err.Error(), Err: err}
	}
	return &Snapshot{
		URL: display, Commit: commit, mirror: m, objects: m.objects,
		root: entry{mode: modeTree, name: ".", id: root}, referred: newReferred(ctx, m, repo), reads: map[string]string{},
	}, nil
}

// Revision implements Tree: the full commit id.
func (s *Snapshot) Revision() string { return s.Commit }

// Close implements Tree. What is behind the snapshot belongs to all who read the
// repository.
func (s *Snapshot) Close() error { return nil }

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
		return &dir{info: info{entry: e.entry}, entries: entries}, nil
	}
	data, err := e.in.blob("open", name, e.entry)
	if err != nil {
		return nil, err
	}
	return &file{info: info{entry: e.entry, size: int64(len(data))}, Reader: bytes.NewReader(data)}, nil
}

// ReadFile implements fs.ReadFileFS.
func (s *Snapshot) ReadFile(name string) ([]byte, error) {
	e, err := s.find("read", name)
	if err != nil {
		return nil, err
	}
	data, err := e.in.blob("read", name, e.entry)
	// The reader's to change, the kept one not.
	return slices.Clone(data), err
}

func (s *Snapshot) blob(op, name string, e entry) ([]byte, error) {
	kind, data, err := s.objects.read(e.id)
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: s.damaged(err)}
	}
	if kind != "blob" {
		return nil, &fs.PathError{Op: op, Path: name, Err: fmt.Errorf("is a directory")}
	}
	if s.referred.smudge != nil {
		if data, err = s.referred.smudge(data); err != nil {
			return nil, &fs.PathError{Op: op, Path: name, Err: err}
		}
	}
	return data, nil
}

// size is how large a file is. It is not read for that, unless it may stand for
// another.
func (s *Snapshot) size(name string, e entry) (int64, error) {
	size, err := s.objects.size(e.id)
	if err != nil {
		return 0, &fs.PathError{Op: "stat", Path: name, Err: s.damaged(err)}
	}
	if s.referred.smudge == nil || size > maxPointer {
		return size, nil
	}
	data, err := s.blob("stat", name, e)
	return int64(len(data)), err
}

// ReadDir implements fs.ReadDirFS. Entries are sorted by name.
func (s *Snapshot) ReadDir(name string) ([]fs.DirEntry, error) {
	e, err := s.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if e.mode == modeSubmodule {
		sub, err := e.in.submodule(e.id)
		if err != nil || sub == nil {
			return nil, pathError("readdir", name, err)
		}
		return sub.ReadDir(".")
	}
	if e.mode != modeTree {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fmt.Errorf("not a directory")}
	}
	return e.in.list(name, e.id)
}

// list returns the entries of a tree that lies at name.
func (s *Snapshot) list(name, id string) ([]fs.DirEntry, error) {
	children, err := s.objects.tree(id)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: s.damaged(err)}
	}
	list := make([]fs.DirEntry, 0, len(children.entries))
	for _, child := range children.entries {
		full := path.Join(name, child.name)
		if child.mode == modeSymlink {
			target, err := s.lookup(full)
			if err != nil {
				// A dangling link is listed and fails when it is opened.
				list = append(list, &info{entry: child})
				continue
			}
			child.mode, child.id = target.mode, target.id
			list = append(list, &info{entry: child, fsys: target.in, path: full})
			continue
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
	return (&info{entry: e.entry, fsys: e.in, path: name}).Info()
}

// find is lookup that records the outcome and speaks in fs errors.
func (s *Snapshot) find(op, name string) (place, error) {
	if !fs.ValidPath(name) {
		return place{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	e, err := s.lookup(name)
	if err != nil {
		s.record(name, "")
		return place{}, &fs.PathError{Op: op, Path: name, Err: err}
	}
	s.record(name, e.id)
	// What a link leads to goes by the link's name.
	e.name = path.Base(name)
	return e, nil
}

// lookup walks the tree to name and follows symbolic links.
func (s *Snapshot) lookup(name string) (place, error) {
	links := 0
	return s.walk(path.Clean(name), &links)
}

func (s *Snapshot) walk(name string, links *int) (place, error) {
	at := s.root
	if name == "." {
		return place{at, s}, nil
	}
	var passed []string
	rest := strings.Split(name, "/")
	for len(rest) > 0 {
		part := rest[0]
		if at.mode == modeSubmodule {
			return s.walkSubmodule(at.id, passed, rest, links)
		}
		rest = rest[1:]
		if at.mode != modeTree {
			return place{}, fs.ErrNotExist
		}
		children, err := s.objects.tree(at.id)
		if err != nil {
			return place{}, s.damaged(err)
		}
		var found bool
		if at, found = children.find(part); !found {
			return place{}, fs.ErrNotExist
		}
		if at.mode != modeSymlink {
			passed = append(passed, part)
			if at.mode == modeSubmodule {
				s.noteSubmodule(at.id, path.Join(passed...))
			}
			continue
		}
		if *links++; *links > maxLinks {
			return place{}, fmt.Errorf("too many symbolic links")
		}
		_, target, err := s.objects.read(at.id)
		if err != nil {
			return place{}, s.damaged(err)
		}
		resolved := path.Join(path.Join(passed...), string(target))
		if path.IsAbs(string(target)) || resolved == ".." || strings.HasPrefix(resolved, "../") {
			return place{}, fmt.Errorf("symbolic link %s leads out of the repository", path.Join(append(passed, part)...))
		}
		return s.walk(path.Join(append([]string{resolved}, rest...)...), links)
	}
	return place{at, s}, nil
}

// damaged notes that the mirror lacks what it must have, so that it is made again
// before the next look.
func (s *Snapshot) damaged(err error) error {
	if s.mirror == nil || errors.Is(err, errNoProcess) {
		return err
	}
	s.mirror.noteBroken()
	return &Error{
		Op: "read commit " + short(s.Commit) + " of", URL: s.URL, Reason: Damaged,
		Detail: "the local copy is damaged (" + err.Error() + ")", Hint: "it is fetched anew", Err: err,
	}
}

func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
