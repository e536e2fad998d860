// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"
)

// Elsewhere is something that a kustomization takes from another place than its
// repository: a base, as it is written, or a chart of a repository of charts.
type Elsewhere struct{ URL, Chart, Version string }

// Key is a text that ParseElsewhere reads.
func (e Elsewhere) Key() string { return e.URL + "\x00" + e.Chart + "\x00" + e.Version }

// ParseElsewhere reads a key.
func ParseElsewhere(key string) (e Elsewhere, ok bool) {
	parts := strings.Split(key, "\x00")
	if len(parts) != 3 {
		return e, false
	}
	return Elsewhere{parts[0], parts[1], parts[2]}, true
}

// Base is a directory of another Git repository.
type Base struct{ Repository, Path, Revision string }

// ParseBase reads a base as kustomizations name it: the URL of a repository, the
// directory behind "//" or behind ".git/", and the revision as "?ref=". Of GitHub
// the first two parts of the path are the repository.
func ParseBase(entry string) (Base, error) {
	address, query, _ := strings.Cut(strings.TrimPrefix(entry, "git::"), "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return Base{}, fmt.Errorf("base %s: %w", entry, err)
	}
	b := Base{Revision: values.Get("ref")}
	if b.Revision == "" {
		b.Revision = values.Get("version")
	}
	for _, host := range []string{"github.com/", "github.com:"} {
		if rest, ok := strings.CutPrefix(address, host); ok {
			address = "https://github.com/" + rest
		}
	}
	scheme, rest := "", address
	if before, after, ok := strings.Cut(address, "://"); ok {
		scheme, rest = before+"://", after
	}
	if repo, dir, ok := strings.Cut(rest, "//"); ok {
		b.Repository, b.Path = scheme+repo, dir
	} else if repo, dir, ok := strings.Cut(rest, ".git/"); ok {
		b.Repository, b.Path = scheme+repo+".git", dir
	} else if parts := strings.Split(rest, "/"); parts[0] == "github.com" && len(parts) > 3 {
		b.Repository, b.Path = scheme+strings.Join(parts[:3], "/"), strings.Join(parts[3:], "/")
	} else {
		b.Repository = scheme + rest
	}
	b.Path = path.Clean("/" + b.Path)[1:]
	if b.Path == "" {
		b.Path = "."
	}
	if strings.Contains(b.Repository, "..") || strings.HasPrefix(scheme, "file") || rest == "" {
		return Base{}, fmt.Errorf("base %s: this is no repository that a base can come from", entry)
	}
	return b, nil
}

// mounted shows trees from elsewhere at places of their own beside a repository.
type mounted struct {
	fs.FS
	trees map[string]fs.FS
	// named are the trees as people know them.
	named map[string]string
}

const mountPrefix = ".elsewhere-"

var (
	_ fs.ReadDirFS  = (*mounted)(nil)
	_ fs.ReadFileFS = (*mounted)(nil)
	_ fs.StatFS     = (*mounted)(nil)
)

func newMounted(files fs.FS) *mounted {
	return &mounted{FS: files, trees: map[string]fs.FS{}, named: map[string]string{}}
}

// add mounts a tree and returns where.
func (m *mounted) add(e Elsewhere, tree fs.FS) string {
	sum := sha256.Sum256([]byte(e.Key()))
	at := mountPrefix + hex.EncodeToString(sum[:6])
	m.trees[at] = tree
	m.named[at], _, _ = strings.Cut(e.URL, "?")
	if base, err := ParseBase(e.URL); err == nil && e.Chart == "" {
		m.named[at] = base.Repository
	}
	return at
}

// mountOf returns the mount that a path lies in, empty for the repository itself.
func (m *mounted) mountOf(name string) string {
	first, _, _ := strings.Cut(name, "/")
	if m.trees[first] == nil {
		return ""
	}
	return first
}

// shown is a path as people know it.
func (m *mounted) shown(name string) string {
	if at := m.mountOf(name); at != "" {
		return m.named[at] + "/" + strings.TrimPrefix(name[len(at):], "/")
	}
	return name
}

func (m *mounted) at(name string) (fs.FS, string) {
	at := m.mountOf(name)
	if at == "" {
		return m.FS, name
	}
	if name == at {
		return m.trees[at], "."
	}
	return m.trees[at], name[len(at)+1:]
}

func (m *mounted) Open(name string) (fs.File, error) {
	tree, rel := m.at(name)
	return tree.Open(rel)
}

func (m *mounted) ReadFile(name string) ([]byte, error) {
	tree, rel := m.at(name)
	return fs.ReadFile(tree, rel)
}

func (m *mounted) ReadDir(name string) ([]fs.DirEntry, error) {
	tree, rel := m.at(name)
	return fs.ReadDir(tree, rel)
}

func (m *mounted) Stat(name string) (fs.FileInfo, error) {
	tree, rel := m.at(name)
	return fs.Stat(tree, rel)
}

// fetch mounts what lies elsewhere and returns the path of its directory.
func (s *snapshot) fetch(ctx context.Context, in Input, e Elsewhere) (string, error) {
	tree, dir, err := in.Elsewhere(ctx, e)
	if err != nil {
		return "", err
	}
	return path.Join(s.files.add(e, tree), dir), nil
}

// relativeTo is the path from a directory to another one.
func relativeTo(dir, to string) string {
	if dir == "." {
		return to
	}
	return strings.Repeat("../", strings.Count(dir, "/")+1) + to
}
