// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Repository is where commits come from.
type Repository struct {
	// URL is the address that Applications name and that errors show.
	URL string
	// FetchURL is where it is really fetched from: a mirror, or the server that
	// `wavetrain up` puts in its place. Empty means URL.
	FetchURL string
}

func (r Repository) fetchURL() string {
	if r.FetchURL != "" {
		return r.FetchURL
	}
	return r.URL
}

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
	// Timeout bounds one git command that talks to a remote. Defaults to two
	// minutes.
	Timeout time.Duration
	// Clock defaults to the real one.
	Clock clock.PassiveClock
}

// Store keeps one bare mirror per repository.
type Store struct {
	opts Options
	git  git

	mu      sync.Mutex
	mirrors map[Repository]*mirror
}

// NewStore makes a Store. The directory is created when it is missing; a
// leftover of an earlier run is used again.
func NewStore(opts Options) (*Store, error) {
	if opts.RefsTTL == 0 {
		opts.RefsTTL = time.Second
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
	return &Store{opts: opts, git: newGit(opts), mirrors: map[Repository]*mirror{}}, nil
}

// Resolve returns the commit id that revision names in the repository now. An
// empty revision is HEAD; see Refs.Resolve for the rules. A full commit id is
// returned as it is, without asking the repository.
func (s *Store) Resolve(ctx context.Context, repo Repository, revision string) (string, error) {
	if isFullCommit(revision) {
		return revision, nil
	}
	m := s.mirror(repo)
	refs, err := m.refs(ctx)
	if err != nil {
		return "", err
	}
	commit, err := refs.Resolve(revision)
	if err == nil {
		return commit, nil
	}
	if isAbbreviatedCommit(revision) {
		if full, errAbbrev := m.expand(ctx, revision); errAbbrev == nil {
			return full, nil
		}
	}
	return "", &Error{Op: "resolve revision " + quoteRevision(revision) + " of", URL: m.display, Detail: err.Error(), Err: err}
}

// Forget drops what is remembered about the repository's refs, so that the next
// Resolve asks again (a webhook or a refresh said something changed).
func (s *Store) Forget(repo Repository) {
	m := s.mirror(repo)
	m.refsMu.Lock()
	defer m.refsMu.Unlock()
	m.refsAt = time.Time{}
}

// Snapshot opens the tree of a commit, fetching it first when the mirror does
// not hold it. Close it after use.
func (s *Store) Snapshot(ctx context.Context, repo Repository, commit string) (*Snapshot, error) {
	m := s.mirror(repo)
	if err := m.ensure(ctx, commit); err != nil {
		return nil, err
	}
	return openSnapshot(s.git, m.dir, m.display, commit)
}

func (s *Store) mirror(repo Repository) *mirror {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.mirrors[repo]; ok {
		return m
	}
	sum := sha256.Sum256([]byte(repo.fetchURL()))
	m := &mirror{
		url:     repo.fetchURL(),
		display: withoutCredentials(repo.URL),
		dir:     filepath.Join(s.opts.Dir, hex.EncodeToString(sum[:8])+".git"),
		git:     s.git,
		timeout: s.opts.Timeout,
		refsTTL: s.opts.RefsTTL,
		clock:   s.opts.Clock,
	}
	s.mirrors[repo] = m
	return m
}

// SameRepository tells whether two URLs are spellings of one: with or without a
// trailing slash or the suffix ".git".
func SameRepository(a, b string) bool { return normaliseURL(a) == normaliseURL(b) }

func normaliseURL(raw string) string {
	return strings.TrimSuffix(strings.TrimSuffix(raw, "/"), ".git")
}

func withoutCredentials(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.User == nil {
		return raw
	}
	u.User = nil
	return u.String()
}
