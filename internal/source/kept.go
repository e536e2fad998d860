// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Of the commits in a mirror those that were used last are kept when it is tidied up,
// which is when fetching has left many files.
const (
	maxCommits = 200
	maxPacks   = 50
)

const (
	// keptCommits is below which refs the copy keeps commits.
	keptCommits = "refs/snapshots/"
	// usedCommits is the directory of the copy with a file for each commit, whose time
	// is when it was used.
	usedCommits = "used"
	// usedEvery is how exactly that is known.
	usedEvery = time.Hour
)

// fetched tells whether a commit was fetched to its end. That it can be read does
// not tell: git writes object after object, and a ref when all are there.
func (m *mirror) fetched(commit string) bool {
	now := m.store.opts.Clock.Now()
	noted, known := m.complete.Load(commit)
	if at, ok := noted.(time.Time); ok && now.Sub(at) < usedEvery {
		return true
	}
	if !known && !m.hasRef(commit) {
		return false
	}
	m.complete.Store(commit, now)
	m.use(commit, now)
	return true
}

func (m *mirror) hasRef(commit string) bool {
	if _, err := os.Stat(filepath.Join(m.dir, filepath.FromSlash(keptCommits), commit)); err == nil {
		return true
	}
	packed, err := os.ReadFile(filepath.Join(m.dir, "packed-refs"))
	return err == nil && strings.Contains(string(packed), commit+" "+keptCommits+commit+"\n")
}

// use notes that a commit is used. That it cannot be noted only means that it may be
// fetched again one day.
func (m *mirror) use(commit string, now time.Time) {
	name := filepath.Join(m.dir, usedCommits, commit)
	err := os.Chtimes(name, now, now)
	if errors.Is(err, os.ErrNotExist) && os.MkdirAll(filepath.Dir(name), 0o700) == nil && os.WriteFile(name, nil, 0o600) == nil {
		_ = os.Chtimes(name, now, now)
	}
}

// tidy bounds what the mirror takes of the disk. Objects that a reader may still
// want are not that old.
func (m *mirror) tidy(ctx context.Context) error {
	packs, err := filepath.Glob(filepath.Join(m.dir, "objects", "pack", "*.pack"))
	if err != nil {
		return err
	}
	// Those that tidying has left are in a file together.
	loose, err := os.ReadDir(filepath.Join(m.dir, filepath.FromSlash(keptCommits)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return m.fail("tidy up the copy of", nil, err)
	}
	if len(packs) <= maxPacks && len(loose) <= maxCommits {
		return nil
	}
	if err := m.dropUnused(ctx); err != nil {
		return m.fail("tidy up the copy of", nil, err)
	}
	if _, err := m.store.git.run(ctx, m.dir, "gc", "--quiet", "--prune=2.hours.ago"); err != nil {
		return m.fail("tidy up the copy of", nil, err)
	}
	return nil
}

// dropUnused deletes the refs of commits that were not used for longest.
func (m *mirror) dropUnused(ctx context.Context) error {
	out, err := m.store.git.run(ctx, m.dir, "for-each-ref", "--format=%(refname)", keptCommits)
	if err != nil {
		return err
	}
	used := map[string]time.Time{}
	commits := strings.Fields(strings.ReplaceAll(string(out), keptCommits, ""))
	for _, commit := range commits {
		if info, err := os.Stat(filepath.Join(m.dir, usedCommits, commit)); err == nil {
			used[commit] = info.ModTime()
		}
	}
	slices.SortStableFunc(commits, func(a, b string) int { return used[b].Compare(used[a]) })
	if len(commits) <= maxCommits {
		return nil
	}
	var deletions strings.Builder
	for _, commit := range commits[maxCommits:] {
		deletions.WriteString("delete " + keptCommits + commit + "\n")
		m.complete.Delete(commit)
		_ = os.Remove(filepath.Join(m.dir, usedCommits, commit)) // one that stays is a file of no bytes
	}
	cmd := m.store.git.command(ctx, nil, m.dir, "update-ref", "--stdin")
	cmd.Stdin = strings.NewReader(deletions.String())
	_, err = m.store.git.runCommand(ctx, nil, cmd)
	return err
}
