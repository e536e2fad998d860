// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/wavetrain/wavetrain/internal/config"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/verify"
)

// localRepo is a repository's work tree on this machine, read through a file
// system that cannot leave it and that remembers what was read.
type localRepo struct {
	dir    string
	config config.Config
	files  *recordingFS
	// file is where the configuration is written, if it is not in dir.
	file string
}

// openLocalRepo opens the repository around start: the nearest directory with a
// .wavetrain.yaml, else the top level of the Git work tree, else the current
// directory or start itself.
func openLocalRepo(start string) (*localRepo, error) {
	dir, err := repositoryRoot(start)
	if err != nil {
		return nil, err
	}
	return openRepositoryAt(dir)
}

// openRepositoryAt opens the repository whose root a directory is.
func openRepositoryAt(dir string) (*localRepo, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open repository: %w", err)
	}
	r := &localRepo{dir: dir, files: &recordingFS{FS: root.FS(), read: map[string]string{}, ids: map[string]string{}}}
	data, err := r.files.ReadFile(config.FileName)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	if r.config, err = config.Parse(r.configFile(), data); err != nil {
		return nil, err
	}
	return r, nil
}

// remoteRepo knows of repositories what they say of themselves, and has none of their
// files. Configs is what those of an Application's sources have at the revisions that
// are looked at. Where things may lie is no question about one Application.
func remoteRepo(ctx context.Context, configs []pipeline.Config) (*localRepo, error) {
	all := &localRepo{files: &recordingFS{FS: nothing{}, read: map[string]string{}, ids: map[string]string{}}}
	for _, c := range configs {
		at := config.FileName + " of " + c.Repository
		one, err := config.Parse(at, c.Text)
		if err != nil {
			return nil, err
		}
		if _, err := rulesOf(ctx, &localRepo{config: one, file: at}); err != nil {
			return nil, err
		}
		all.config.External = append(all.config.External, one.External...)
		all.config.References = append(all.config.References, one.References...)
		all.config.Nodes = append(all.config.Nodes, one.Nodes...)
		all.config.Verify.Ignore = append(all.config.Verify.Ignore, one.Verify.Ignore...)
		all.config.Verify.Rules = append(all.config.Verify.Rules, one.Verify.Rules...)
	}
	return all, nil
}

// nothing is a file system without files.
type nothing struct{}

// Open implements fs.FS.
func (nothing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// configFile is how messages name the repository's configuration.
func (r *localRepo) configFile() string {
	return cmp.Or(r.file, filepath.Join(r.dir, config.FileName))
}

// outside is what the repository says of objects that others bring, and of kinds
// naming each other.
func (r *localRepo) outside() ([]manifest.External, manifest.Table, error) {
	file := r.configFile()
	external, err := r.config.Outside(file)
	if err != nil {
		return nil, nil, err
	}
	table, err := r.config.Table(file)
	return external, table, err
}

func amount(text string) *resource.Quantity {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return nil
	}
	return &q
}

// nodes are those that the repository says a cluster has, which is known by a name and
// an address.
func (r *localRepo) nodes(cluster ...string) []verify.Node {
	var list []verify.Node
	for _, n := range r.config.Nodes {
		if n.Cluster != "" && !slices.Contains(cluster, n.Cluster) {
			continue
		}
		node := verify.Node{Name: n.Name, Labels: n.Labels}
		for _, text := range n.Taints {
			// What cannot be read was an error of the file.
			key, value, effect, _ := config.Taint(text)
			node.Taints = append(node.Taints, verify.Taint{Key: key, Value: value, Effect: effect})
		}
		node.CPU, node.Memory = amount(n.CPU), amount(n.Memory)
		list = append(list, node)
	}
	return list
}

func repositoryRoot(start string) (string, error) {
	start, err := filepath.Abs(start)
	if err != nil {
		return "", err
	}
	if start, err = filepath.EvalSymlinks(start); err != nil {
		return "", err
	}
	gitTop := ""
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, config.FileName)); err == nil {
			return dir, nil
		}
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil && gitTop == "" {
			gitTop = dir
		}
		if gitTop != "" || dir == filepath.Dir(dir) {
			break
		}
	}
	if gitTop != "" {
		return gitTop, nil
	}
	// Nothing marks a root: take what the user stands in, if it is around start.
	here, err := filepath.Abs(".")
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(here, start); err == nil && !leaves(rel) {
		return here, nil
	}
	return start, nil
}

// leaves reports whether a relative path leads out of where it starts.
func leaves(rel string) bool {
	return rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// rel is a path of the machine as a path of the repository.
func (r *localRepo) rel(name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(r.dir, abs)
	if err != nil || leaves(rel) {
		return "", fmt.Errorf("%s is outside the repository %s", name, r.dir)
	}
	return filepath.ToSlash(rel), nil
}

// has reports whether a source's URL means this repository. Without a URL in
// .wavetrain.yaml every URL does.
func (r *localRepo) has(url string) bool {
	return r.config.Repository == "" || sameRepository(r.config.Repository, url)
}

func sameRepository(a, b string) bool {
	plain := func(url string) string {
		return strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(url), "/"), ".git")
	}
	return plain(a) == plain(b)
}

// recordingFS remembers the digest of every file that is read, and knows those of
// files and directories.
type recordingFS struct {
	fs.FS
	read map[string]string
	ids  map[string]string
}

// ReadFile reads a file and remembers its digest.
func (f *recordingFS) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(f.FS, name)
	if err == nil {
		sum := sha256.Sum256(data)
		f.read[name] = hex.EncodeToString(sum[:])
	}
	return data, err
}

// ObjectID identifies the content of a file, or of all that is below a directory;
// empty for what is not there.
func (f *recordingFS) ObjectID(name string) string {
	if id, ok := f.ids[name]; ok {
		return id
	}
	sum := sha256.New()
	if data, err := fs.ReadFile(f.FS, name); err == nil {
		sum.Write(data)
	} else if list, err := fs.ReadDir(f.FS, name); err == nil {
		for _, entry := range list {
			// Git's own files are no content.
			if entry.Name() != ".git" {
				fmt.Fprintf(sum, "%s %t %s\n", entry.Name(), entry.IsDir(), f.ObjectID(path.Join(name, entry.Name())))
			}
		}
	} else {
		return ""
	}
	f.ids[name] = hex.EncodeToString(sum.Sum(nil))
	return f.ids[name]
}
