// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/internal/config"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// layOut lays two revisions of a repository out as a rehearsal, in a directory of
// its own: rev1, rev2, and in app.yaml what is applied by hand. It returns the
// directory and the URLs that the repository has.
func layOut(ctx context.Context, s Streams, dir, base, head string) (laidOut string, urls []string, err error) {
	repo, err := openLocalRepo(dir)
	if err != nil {
		return "", nil, err
	}
	if laidOut, err = os.MkdirTemp("", "wavetrain-rehearse-"); err != nil {
		return "", nil, err
	}
	made := laidOut
	defer func() {
		if err != nil {
			_ = os.RemoveAll(made)
		}
	}()
	for name, revision := range map[string]string{"rev1": base, "rev2": head} {
		tree := filepath.Join(laidOut, "tree-"+name)
		there, err := checkOut(ctx, s, tree, revision, []string{repo.dir})
		if err != nil {
			return "", nil, err
		}
		if len(there) == 0 {
			return "", nil, fmt.Errorf("%s is not there at %s", dir, revision)
		}
		if err := os.CopyFS(filepath.Join(laidOut, name), withoutGit{os.DirFS(there[0])}); err != nil {
			return "", nil, err
		}
		if err := os.RemoveAll(tree); err != nil {
			return "", nil, err
		}
	}
	if repo.config.Repository != "" {
		urls = append(urls, repo.config.Repository)
	}
	apps, err := handApplied(filepath.Join(laidOut, "rev2"))
	if err != nil {
		return "", nil, err
	}
	return laidOut, urls, errors.Join(
		os.WriteFile(filepath.Join(laidOut, "app.yaml"), apps, 0o600), os.WriteFile(filepath.Join(laidOut, "sim.yaml"), []byte(quickPods), 0o600))
}

// quickPods are the rules of a rehearsal that is about order, not about how long Pods
// take: nobody has said how long.
const quickPods = `rules:
  - {match: {kind: Job}, succeedAfter: 200ms}
  - {match: {kind: Deployment}, readyAfter: 200ms}
  - {match: {kind: StatefulSet}, readyAfter: 200ms}
  - {match: {kind: DaemonSet}, readyAfter: 200ms}
`

// withoutGit is a directory without Git's own.
type withoutGit struct{ fs.FS }

// ReadDir implements fs.ReadDirFS.
func (w withoutGit) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(w.FS, name)
	kept := entries[:0]
	for _, e := range entries {
		if e.Name() != ".git" {
			kept = append(kept, e)
		}
	}
	return kept, err
}

// handApplied returns the manifests that .wavetrain.yaml lists under bootstrap.
func handApplied(root string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(root, config.FileName))
	if err != nil {
		return nil, fmt.Errorf("a rehearsal between revisions needs %s: list under bootstrap what is applied by hand", config.FileName)
	}
	cfg, err := config.Parse(config.FileName, data)
	if err != nil {
		return nil, err
	}
	if len(cfg.Bootstrap) == 0 {
		return nil, fmt.Errorf("%s lists nothing under bootstrap: what is applied by hand?", config.FileName)
	}
	var all bytes.Buffer
	for _, file := range cfg.Bootstrap {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		objects, err := manifest.Decode(file, data)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			text, err := yaml.Marshal(o.Object)
			if err != nil {
				return nil, err
			}
			all.WriteString("---\n")
			all.Write(text)
		}
	}
	return all.Bytes(), nil
}
