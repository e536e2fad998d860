// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/wavetrain/wavetrain/internal/render/tree"
)

// maxBytes bounds what one build reads.
const maxBytes = 100 << 20

// snapshot holds in memory the directories that a build may read: those of the
// kustomization and of everything it is made of.
type snapshot struct {
	files  *mounted
	memory filesys.FileSystem
	budget tree.Budget
	copied []string
	// seen are the kustomizations that belong to the build.
	seen   map[string]bool
	parsed map[string]parsed
	// changesSchema is set by kustomizations that bring an API schema.
	changesSchema bool
	// charts renders the charts of a kustomization; inflated are the files that
	// came of it, by directory.
	charts func(dir string, k *types.Kustomization) ([]string, error)
	// base fetches a base from elsewhere and returns where it lies; nil refuses.
	base     func(entry string) (string, error)
	inflated map[string][]string
}

func newSnapshot(files fs.FS) *snapshot {
	return &snapshot{files: newMounted(files), memory: filesys.MakeFsInMemory(), budget: tree.Budget{Limit: maxBytes}, seen: map[string]bool{}, parsed: map[string]parsed{}, inflated: map[string][]string{}}
}

// withCharts puts what the charts of a kustomization render to in their place.
func (s *snapshot) withCharts(dir string, k *types.Kustomization) {
	k.Resources = append(slices.Clip(k.Resources), s.inflated[dir]...)
	k.HelmCharts, k.HelmGlobals = nil, nil
}

// add copies a kustomization's directory and those it names.
func (s *snapshot) add(dir string) error {
	if s.seen[dir] {
		return nil
	}
	s.seen[dir] = true
	if err := s.copy(dir); err != nil {
		return err
	}
	k, name, err := s.kustomization(dir)
	if err != nil {
		return err
	}
	if len(k.OpenAPI) > 0 || len(k.Crds) > 0 {
		s.changesSchema = true
	}
	for _, entry := range namedFiles(k) {
		if isRemote(entry) {
			return fmt.Errorf("%s: %s is on another host: only what is in the repository is read", path.Join(dir, name), entry)
		}
	}
	if s.inflated[dir], err = s.charts(dir, k); err != nil {
		return err
	}
	moved, err := s.addEntries(dir, name, k.Resources, k.Components)
	if err != nil {
		return err
	}
	if len(k.HelmCharts) > 0 || moved {
		changed := *k
		s.withCharts(dir, &changed)
		if err := s.write(at(path.Join(dir, name)), &changed); err != nil {
			return err
		}
	}
	for _, entry := range slices.Concat(k.Generators, k.Transformers, k.Validators) {
		if isRemote(entry) {
			return fmt.Errorf("%s: %s is on another host: only what is in the repository is read", s.files.shown(path.Join(dir, name)), entry)
		}
		if _, err := s.addEntry(dir, name, entry); err != nil {
			return err
		}
		if err := s.checkConfiguration(dir, name, entry); err != nil {
			return err
		}
	}
	return nil
}

// checkConfiguration refuses the configuration of a generator or transformer,
// inline or in a file, that has Kustomize fetch something.
func (s *snapshot) checkConfiguration(dir, name, entry string) error {
	text := entry
	if !strings.Contains(entry, "\n") {
		file := at(path.Join(dir, entry))
		if s.memory.IsDir(file) {
			return nil
		}
		data, err := s.memory.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read %s: %w", path.Join(dir, entry), err)
		}
		text = string(data)
	}
	if strings.Contains(text, "http://") || strings.Contains(text, "https://") {
		return fmt.Errorf("%s: the configuration of a generator or transformer names another host: only what is in the repository is read", path.Join(dir, name))
	}
	return nil
}

// at is where a path of the repository stands in memory.
func at(name string) string { return path.Join("/", name) }

// addEntries adds what is listed, and tells whether an entry is to be written
// otherwise now, which it is in its list.
func (s *snapshot) addEntries(dir, name string, lists ...[]string) (moved bool, err error) {
	for _, list := range lists {
		for i, entry := range list {
			if list[i], err = s.addEntry(dir, name, entry); err != nil {
				return false, err
			}
			moved = moved || list[i] != entry
		}
	}
	return moved, nil
}

// addEntry follows one entry that may be a file, a directory or, for
// generators and transformers, the configuration itself. It returns the entry as it
// is to be written: a base from elsewhere by where it lies now.
func (s *snapshot) addEntry(dir, name, entry string) (string, error) {
	if strings.Contains(entry, "\n") {
		return entry, nil
	}
	where := s.files.shown(path.Join(dir, name))
	if isRemote(entry) {
		return s.addBase(dir, where, entry)
	}
	full, err := tree.Resolve(dir, entry)
	if err == nil && s.files.mountOf(dir) != s.files.mountOf(full) {
		err = fmt.Errorf("path %s leaves the repository", entry)
	}
	if err != nil {
		return entry, fmt.Errorf("%s: %w", where, err)
	}
	info, err := fs.Stat(s.files, full)
	if err != nil {
		return entry, fmt.Errorf("%s: %s does not exist in the repository", where, entry)
	}
	if !info.IsDir() {
		return entry, nil
	}
	return entry, s.add(full)
}

// addBase adds a base that lies elsewhere.
func (s *snapshot) addBase(dir, where, entry string) (string, error) {
	if s.base == nil {
		return entry, fmt.Errorf("%s: the base %s is on another host and is not fetched here: vendor it into the repository", where, entry)
	}
	full, err := s.base(entry)
	if err != nil {
		return entry, fmt.Errorf("%s: %w", where, err)
	}
	if info, err := fs.Stat(s.files, full); err != nil || !info.IsDir() {
		return entry, fmt.Errorf("%s: %s: there is no such directory (a base is one, with a kustomization.yaml)", where, entry)
	}
	return relativeTo(dir, full), s.add(full)
}

// copy puts a directory's files into memory, unless a parent's copy has them.
func (s *snapshot) copy(dir string) error {
	if slices.ContainsFunc(s.copied, func(c string) bool {
		return c == "." && s.files.mountOf(dir) == "" || c == dir || strings.HasPrefix(dir, c+"/")
	}) {
		return nil
	}
	s.copied = append(s.copied, dir)
	return tree.Walk(s.files, dir, nil, func(f tree.File) error {
		if s.memory.Exists(at(f.Path)) {
			return nil
		}
		data, err := s.budget.Read(s.files, f.Path)
		if err != nil {
			return err
		}
		return s.memory.WriteFile(at(f.Path), data)
	})
}

// parsed is a kustomization with the name of its file.
type parsed struct {
	*types.Kustomization
	name string
}

// kustomization reads a directory's kustomization file, once.
func (s *snapshot) kustomization(dir string) (*types.Kustomization, string, error) {
	if known, ok := s.parsed[dir]; ok {
		return known.Kustomization, known.name, nil
	}
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		file := path.Join(dir, name)
		data, err := fs.ReadFile(s.files, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, "", fmt.Errorf("read %s: %w", file, err)
		}
		k := &types.Kustomization{}
		if err := k.Unmarshal(data); err != nil {
			return nil, "", fmt.Errorf("%s: %w", file, err)
		}
		k.FixKustomization()
		s.parsed[dir] = parsed{k, name}
		return k, name, nil
	}
	return nil, "", fmt.Errorf("%s has no kustomization.yaml", dir)
}

// namedFiles lists what a kustomization loads as files.
func namedFiles(k *types.Kustomization) []string {
	list := slices.Concat(k.Crds, k.Configurations)
	list = append(list, k.OpenAPI["path"])
	//nolint:staticcheck // deprecated fields are in use and load files like the others
	for _, p := range slices.Concat(k.Patches, k.PatchesJson6902) {
		list = append(list, p.Path)
	}
	//nolint:staticcheck // as above
	for _, p := range k.PatchesStrategicMerge {
		list = append(list, string(p))
	}
	for _, r := range k.Replacements {
		list = append(list, r.Path)
	}
	for _, g := range k.ConfigMapGenerator {
		list = append(list, sources(g.KvPairSources)...)
	}
	for _, g := range k.SecretGenerator {
		list = append(list, sources(g.KvPairSources)...)
	}
	return list
}

// sources lists the files of a generator, which may stand behind "key=".
func sources(s types.KvPairSources) []string {
	list := append(slices.Clone(s.EnvSources), s.EnvSource)
	for _, f := range s.FileSources {
		if _, file, ok := strings.Cut(f, "="); ok {
			f = file
		}
		list = append(list, f)
	}
	return list
}

// isRemote recognises the ways in which Kustomize names other hosts.
func isRemote(entry string) bool {
	if strings.Contains(entry, "\n") {
		return false
	}
	for _, prefix := range []string{"git::", "github.com/", "github.com:", "git@"} {
		if strings.HasPrefix(strings.ToLower(entry), prefix) {
			return true
		}
	}
	return strings.Contains(entry, "://")
}
