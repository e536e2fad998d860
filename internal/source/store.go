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

// Options of a Store.
type Options struct {
	// Dir holds the mirrors. Required.
	Dir string
	// Rewrites maps repository URLs to the URLs that are really fetched, as
	// git's url.<base>.insteadOf does for whole URLs. `wavetrain up` serves a
	// directory in place of its repository this way.
	Rewrites map[string]string
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
	opts     Options
	git      git
	rewrites map[string]string

	mu      sync.Mutex
	mirrors map[string]*mirror
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
	rewrites := make(map[string]string, len(opts.Rewrites))
	for from, to := range opts.Rewrites {
		rewrites[normaliseURL(from)] = to
	}
	return &Store{opts: opts, git: newGit(opts), rewrites: rewrites, mirrors: map[string]*mirror{}}, nil
}

// Resolve returns the commit id that revision names in the repository now. An
// empty revision is HEAD; see Refs.Resolve for the rules. A full commit id is
// returned as it is, without asking the repository.
func (s *Store) Resolve(ctx context.Context, repo, revision string) (string, error) {
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
func (s *Store) Forget(repo string) {
	m := s.mirror(repo)
	m.refsMu.Lock()
	defer m.refsMu.Unlock()
	m.refsAt = time.Time{}
}

// Snapshot opens the tree of a commit, fetching it first when the mirror does
// not hold it. Close it after use.
func (s *Store) Snapshot(ctx context.Context, repo, commit string) (*Snapshot, error) {
	m := s.mirror(repo)
	if err := m.ensure(ctx, commit); err != nil {
		return nil, err
	}
	return openSnapshot(s.git, m.dir, m.display, commit)
}

func (s *Store) mirror(repo string) *mirror {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.mirrors[repo]; ok {
		return m
	}
	fetchURL := repo
	if to, ok := s.rewrites[normaliseURL(repo)]; ok {
		fetchURL = to
	}
	sum := sha256.Sum256([]byte(fetchURL))
	m := &mirror{
		url:     fetchURL,
		display: withoutCredentials(repo),
		dir:     filepath.Join(s.opts.Dir, hex.EncodeToString(sum[:8])+".git"),
		git:     s.git,
		timeout: s.opts.Timeout,
		refsTTL: s.opts.RefsTTL,
		clock:   s.opts.Clock,
	}
	s.mirrors[repo] = m
	return m
}

// normaliseURL drops what two spellings of one repository differ in: a
// trailing slash and the suffix ".git".
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
