// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// mirror is the bare copy of one repository.
type mirror struct {
	url, display, dir string
	git               git
	timeout, refsTTL  time.Duration
	clock             clock.PassiveClock

	refsMu  sync.Mutex
	refsAt  time.Time
	refsVal *Refs

	// fetchMu lets one fetch at a time write to the mirror; readers never take
	// it.
	fetchMu sync.Mutex
}

// refs asks the remote for its refs, at most once per refsTTL for all callers.
func (m *mirror) refs(ctx context.Context) (*Refs, error) {
	m.refsMu.Lock()
	defer m.refsMu.Unlock()
	if m.refsVal != nil && m.clock.Since(m.refsAt) < m.refsTTL {
		return m.refsVal, nil
	}
	ctx, cancel := m.bounded(ctx)
	defer cancel()
	out, err := m.git.run(ctx, "", "ls-remote", "--symref", "--", m.url)
	if err != nil {
		return nil, m.fail("list refs of", err)
	}
	m.refsVal, m.refsAt = parseRefs(out), m.clock.Now()
	return m.refsVal, nil
}

// ensure makes the mirror hold the commit.
func (m *mirror) ensure(ctx context.Context, commit string) error {
	if m.has(ctx, commit) {
		return nil
	}
	m.fetchMu.Lock()
	defer m.fetchMu.Unlock()
	if m.has(ctx, commit) {
		return nil
	}
	if err := m.fetchAll(ctx); err != nil {
		return err
	}
	if m.has(ctx, commit) {
		return nil
	}
	// A commit that no branch reaches any more can often still be had by name.
	ctxFetch, cancel := m.bounded(ctx)
	defer cancel()
	if _, err := m.git.run(ctxFetch, m.dir, "fetch", "--quiet", "--no-tags", "--", m.url, commit); err != nil {
		return m.fail("fetch commit "+short(commit)+" of", err)
	}
	return nil
}

func (m *mirror) fetchAll(ctx context.Context) error {
	if err := m.init(ctx); err != nil {
		return err
	}
	ctx, cancel := m.bounded(ctx)
	defer cancel()
	_, err := m.git.run(ctx, m.dir, "fetch", "--quiet", "--force", "--prune", "--no-tags", "--",
		m.url, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
	if err != nil {
		return m.fail("fetch", err)
	}
	return nil
}

// init makes the bare repository. A directory that an interrupted first run
// left half-made is made again.
func (m *mirror) init(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(m.dir, "HEAD")); err == nil {
		return nil
	}
	if err := os.RemoveAll(m.dir); err != nil {
		return fmt.Errorf("clear half-made mirror: %w", err)
	}
	if _, err := m.git.run(ctx, "", "init", "--quiet", "--bare", m.dir); err != nil {
		return m.fail("make mirror of", err)
	}
	return nil
}

func (m *mirror) has(ctx context.Context, commit string) bool {
	_, err := m.git.run(ctx, m.dir, "cat-file", "-e", commit+"^{commit}")
	return err == nil
}

// expand turns an abbreviated commit id into the full one.
func (m *mirror) expand(ctx context.Context, abbreviated string) (string, error) {
	m.fetchMu.Lock()
	defer m.fetchMu.Unlock()
	if err := m.fetchAll(ctx); err != nil {
		return "", err
	}
	out, err := m.git.run(ctx, m.dir, "rev-parse", "--verify", "--quiet", abbreviated+"^{commit}")
	if err != nil {
		return "", err
	}
	full := string(out[:max(0, len(out)-1)])
	if !isFullCommit(full) {
		return "", fmt.Errorf("%q is no commit", abbreviated)
	}
	return full, nil
}

func (m *mirror) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, m.timeout, fmt.Errorf("no answer within %s", m.timeout))
}

func (m *mirror) fail(op string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &Error{Op: op, URL: m.display, Detail: err.Error(), Err: err}
}

func short(commit string) string { return commit[:min(7, len(commit))] }
