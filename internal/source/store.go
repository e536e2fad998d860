// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Options of a Store.
type Options struct {
	// Dir holds the mirrors. Required.
	Dir string
	// Env is the environment of git processes: PATH, and what ssh and proxies
	// need. Nothing else is inherited.
	Env []string
	// AllowFile permits file:// and local paths. Off by default: an Application
	// must not read the controller's disk.
	AllowFile bool
	// RefsTTL is how long the answer of ls-remote is shared between
	// applications of one repository. Defaults to one second.
	RefsTTL time.Duration
	// IndexTTL is the same for the index of a Helm repository and the tags of an
	// OCI registry. Defaults to one minute.
	IndexTTL time.Duration
	// Timeout bounds one git command that talks to a remote. Defaults to two
	// minutes.
	Timeout time.Duration
	// Clock defaults to the real one.
	Clock clock.PassiveClock
}

// credentialDirPrefix is what directories begin with that hold credentials for
// the time of one command.
const credentialDirPrefix = "access-"

// Store keeps one bare mirror per repository, and charts.
type Store struct {
	opts      Options
	git       git
	tokens    appTokens
	archives  archives
	artifacts artifacts
	verdicts  verdicts
	declared  declarations
	pauses    *pauses
	patience  patience

	mu         sync.Mutex
	mirrors    map[string]*mirror
	helms      map[string]*helmRepository
	transports map[string]*http.Transport
	// valueFiles are those of other hosts that were read lately.
	valueFiles map[string]valueFile
}

// NewStore makes a Store. The directory is created when it is missing; a
// leftover of an earlier run is used again.
func NewStore(opts Options) (*Store, error) {
	if opts.RefsTTL == 0 {
		opts.RefsTTL = time.Second
	}
	if opts.IndexTTL == 0 {
		opts.IndexTTL = time.Minute
	}
	if opts.Timeout == 0 {
		opts.Timeout = 2 * time.Minute
	}
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make directory of repository mirrors: %w", err)
	}
	s := &Store{
		opts: opts, git: newGit(opts), mirrors: map[string]*mirror{}, helms: map[string]*helmRepository{},
		transports: map[string]*http.Transport{}, valueFiles: map[string]valueFile{}, archives: archives{known: map[string]*archive{}},
		verdicts: newVerdicts(), declared: declarations{known: map[string][]dependency{}},
		patience: patience{waiting: map[string]int{}, slow: map[string]bool{}},
		pauses:   &pauses{clock: opts.Clock, until: map[string]time.Time{}},
	}
	s.artifacts = artifacts{store: s, answers: map[string]ociAnswer{}}
	s.tokens = appTokens{clock: opts.Clock, store: s, tokens: map[string]appToken{}}
	return s, s.sweep()
}

// unused is how long copies and archives are kept that nobody reads.
const unused = 30 * 24 * time.Hour

// sweep deletes credentials that a process which was killed has left — a command
// that runs has made its own a few minutes ago at most — and what nobody has used
// for long. Should somebody use it after all, it is fetched again.
func (s *Store) sweep() error {
	for pattern, age := range map[string]time.Duration{
		credentialDirPrefix + "*": time.Hour, "*.git": unused, "archives/*": unused, "lfs/*/*": unused,
	} {
		left, err := filepath.Glob(filepath.Join(s.opts.Dir, filepath.FromSlash(pattern)))
		if err != nil {
			return err
		}
		for _, name := range left {
			info, err := os.Stat(name)
			if err != nil || s.opts.Clock.Since(info.ModTime()) < age {
				continue
			}
			if err := os.RemoveAll(name); err != nil {
				return fmt.Errorf("delete what an earlier run has left: %w", err)
			}
		}
	}
	return nil
}

// touch notes that a file of the cache is used. That it cannot be noted only means
// that it may be fetched again one day.
func (s *Store) touch(name string) {
	now := s.opts.Clock.Now()
	_ = os.Chtimes(name, now, now)
}

// Close ends the git processes that are kept for reading. The Store can be used
// again.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.mirrors {
		m.objects.close()
	}
	for _, t := range s.transports {
		t.CloseIdleConnections()
	}
}

// Resolve returns the commit id that revision names in the repository now. An
// empty revision is HEAD; see Refs.Resolve for the rules. A full commit id is
// returned as it is, without asking the repository.
func (s *Store) Resolve(ctx context.Context, repo Repository, revision string) (string, error) {
	return s.resolve(ctx, repo, revision, "")
}

func (s *Store) resolve(ctx context.Context, repo Repository, revision, tagPrefix string) (string, error) {
	if isFullCommit(revision) {
		return revision, nil
	}
	m, err := s.mirror(repo)
	if err != nil {
		return "", err
	}
	refs, err := m.refs(ctx)
	if err != nil {
		return "", err
	}
	commit, err := refs.Resolve(revision, tagPrefix)
	if err == nil {
		return commit, nil
	}
	if isAbbreviatedCommit(revision) {
		if full, ok := refs.abbreviated(revision); ok {
			return full, nil
		}
		if full, errAbbrev := m.expand(ctx, revision); errAbbrev == nil {
			return full, nil
		}
	}
	return "", &Error{
		Op: "resolve revision " + quoteRevision(revision) + " of", URL: repo.Display(), Reason: NoRevision, Detail: err.Error(), Err: err,
	}
}

func (s *Store) refsVersion(ctx context.Context, repo Repository) (string, error) {
	m, err := s.mirror(repo)
	if err != nil {
		return "", err
	}
	if _, err := m.refs(ctx); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return hex.EncodeToString(m.refsRaw[:]), nil
}

// Forget drops what is remembered about the refs of a repository, however its URL
// is spelled, and about failures to read them, so that the next Resolve asks again
// (a webhook or a refresh said something changed).
func (s *Store) Forget(url string) {
	s.mu.Lock()
	mirrors, helms := slices.Collect(maps.Values(s.mirrors)), slices.Collect(maps.Values(s.helms))
	s.mu.Unlock()
	for _, m := range mirrors {
		m.forget(url)
	}
	for _, h := range helms {
		h.forget(url)
	}
	s.artifacts.forget(url)
}

func (m *mirror) forget(url string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if SameRepository(m.repo.URL, url) {
		m.refsAt, m.trouble, m.fetching, m.moved = time.Time{}, trouble{}, trouble{}, ""
		m.forgets++
	}
}

// Snapshot opens the tree of a commit, fetching it first when the mirror does
// not hold it. Close it after use.
func (s *Store) Snapshot(ctx context.Context, repo Repository, commit string) (*Snapshot, error) {
	m, err := s.mirror(repo)
	if err != nil {
		return nil, err
	}
	if err := m.ensure(ctx, commit); err != nil {
		return nil, err
	}
	return openSnapshot(ctx, m, repo, commit)
}

// mirror returns the copy of the repository, and tells it what is known now.
func (s *Store) mirror(repo Repository) (*mirror, error) {
	digest, err := repo.Credentials.digest()
	if err != nil {
		return nil, err
	}
	key := repo.key()
	s.mu.Lock()
	m, ok := s.mirrors[key]
	if !ok {
		dir := filepath.Join(s.opts.Dir, key+".git")
		s.touch(dir)
		m = &mirror{store: s, dir: dir, objects: newObjects(s.git, dir), repo: repo, digest: digest}
		s.mirrors[key] = m
	}
	s.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.digest != digest || m.repo.URL != repo.URL {
		// What failed before may succeed now, and the other way round.
		m.digest, m.refsAt, m.trouble, m.fetching, m.moved = digest, time.Time{}, trouble{}, trouble{}, ""
	}
	m.repo = repo
	return m, nil
}
