// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"
)

// maxSubmodules bounds how deep submodules of submodules are followed.
const maxSubmodules = 8

// referred fetches what a commit only refers to. It lives as long as the look for
// which the snapshot was opened.
type referred struct {
	// base is what relative URLs of submodules are relative to.
	base string
	// open opens a commit of another repository.
	open func(address, commit string) (*Snapshot, error)
	// smudge replaces a file that stands for another by that other; nil if none does.
	smudge func(data []byte) ([]byte, error)
	// modules returns the submodules that a .gitmodules file names: path to URL.
	modules func(file []byte) (map[string]string, error)
	depth   int
}

// newReferred takes what this repository may use, not what the mirror knows by then:
// projects share mirrors, but not credentials.
func newReferred(ctx context.Context, m *mirror, repo Repository) referred {
	r := referred{
		base: repo.URL,
		open: func(address, commit string) (*Snapshot, error) {
			other, err := repo.related(ctx, address)
			if err != nil {
				return nil, err
			}
			return m.store.Snapshot(ctx, other, commit)
		},
		modules: func(file []byte) (map[string]string, error) { return m.parseModules(ctx, file) },
	}
	if repo.LFS {
		r.smudge = func(data []byte) ([]byte, error) { return m.smudge(ctx, data) }
	}
	return r
}

// noteSubmodule remembers where a submodule was met: the tree has only its commit.
func (s *Snapshot) noteSubmodule(commit, at string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.modules == nil {
		s.modules = map[string]string{}
	}
	s.modules[commit] = at
}

// walkSubmodule goes on inside of a submodule.
func (s *Snapshot) walkSubmodule(commit string, passed, rest []string, links *int) (place, error) {
	s.noteSubmodule(commit, path.Join(passed...))
	sub, err := s.submodule(commit)
	if err != nil {
		return place{}, err
	}
	if sub == nil {
		return place{}, fs.ErrNotExist
	}
	return sub.walk(path.Join(rest...), links)
}

// submodule opens the repository of a submodule. It is nil for one that
// .gitmodules does not know, which git leaves empty.
func (s *Snapshot) submodule(commit string) (*Snapshot, error) {
	s.mu.Lock()
	sub, known := s.submodules[commit]
	at := s.modules[commit]
	s.mu.Unlock()
	if known {
		return sub, nil
	}
	address, err := s.moduleURL(at)
	if err != nil {
		return nil, fmt.Errorf("submodule %s: %w", at, err)
	}
	if address != "" {
		if s.referred.depth >= maxSubmodules {
			return nil, fmt.Errorf("submodule %s: more than %d submodules inside each other", at, maxSubmodules)
		}
		if sub, err = s.referred.open(address, commit); err != nil {
			return nil, fmt.Errorf("submodule %s: %w", at, err)
		}
		sub.referred.depth = s.referred.depth + 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.submodules == nil {
		s.submodules = map[string]*Snapshot{}
	}
	s.submodules[commit] = sub
	return sub, nil
}

// moduleURL is the address of the submodule at a path, "" when none is given.
func (s *Snapshot) moduleURL(at string) (string, error) {
	file, err := s.ReadFile(".gitmodules")
	if err != nil {
		return "", nil //nolint:nilerr // git, too, takes a submodule without the file for an empty directory
	}
	byPath, err := s.referred.modules(file)
	if err != nil {
		return "", fmt.Errorf("read .gitmodules: %w", err)
	}
	address := byPath[at]
	if strings.HasPrefix(address, "./") || strings.HasPrefix(address, "../") {
		return relativeURL(s.referred.base, address)
	}
	return address, nil
}

// relativeURL resolves the address of a submodule against that of its parent.
func relativeURL(parent, relative string) (string, error) {
	parent = strings.TrimSuffix(parent, "/")
	if isSSH(parent) && !strings.Contains(parent, "://") {
		host, dir, _ := strings.Cut(parent, ":")
		joined := path.Join(dir, relative)
		if strings.HasPrefix(joined, "..") {
			return "", fmt.Errorf("%s leads out of %s", relative, parent)
		}
		return host + ":" + joined, nil
	}
	u, err := url.Parse(parent)
	if err != nil {
		return "", err
	}
	joined := path.Join(strings.TrimPrefix(u.Path, "/"), relative)
	if strings.HasPrefix(joined, "..") {
		return "", fmt.Errorf("%s leads out of %s", relative, withoutCredentials(parent))
	}
	u.Path = "/" + joined
	return u.String(), nil
}

// parseModules has git read a file of its own configuration format.
func (m *mirror) parseModules(ctx context.Context, file []byte) (map[string]string, error) {
	cmd := m.store.git.command(ctx, nil, "", "config", "--file", "-", "--null", "--list")
	cmd.Stdin = strings.NewReader(string(file))
	out, err := m.store.git.runCommand(ctx, nil, cmd)
	if err != nil {
		return nil, err
	}
	paths, urls := map[string]string{}, map[string]string{}
	for line := range strings.SplitSeq(string(out), "\x00") {
		key, value, _ := strings.Cut(line, "\n")
		rest, ok := strings.CutPrefix(key, "submodule.")
		if !ok {
			continue
		}
		if name, ok := strings.CutSuffix(rest, ".path"); ok {
			paths[name] = path.Clean(value)
		} else if name, ok := strings.CutSuffix(rest, ".url"); ok {
			urls[name] = value
		}
	}
	byPath := map[string]string{}
	for name, at := range paths {
		byPath[at] = urls[name]
	}
	return byPath, nil
}
