// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sync/singleflight"
)

// mirror is the bare copy of one repository.
type mirror struct {
	store   *Store
	dir     string
	objects *objects
	// broken is the make of the copy that turned out to be damaged, read the one
	// that is read. Another process may have made it again.
	broken, read atomic.Value
	// complete are commits that are known to be there to the last file.
	complete sync.Map
	// asks lets all who want the same of the remote wait for one answer.
	asks singleflight.Group

	mu sync.Mutex
	// repo is what is known now; its credentials may change.
	repo   Repository
	digest string
	// moved is where the server sent us, on the same host.
	moved string

	refsAt time.Time
	// forgets counts how often the refs were forgotten: an answer to a question from
	// before that may be outdated.
	forgets int
	refsVal *Refs
	refsRaw [32]byte
	// trouble is with asking for refs, fetching with getting commits.
	trouble, fetching trouble
}

// keyRefs begins the key of a question for refs.
const keyRefs = "refs "

// refs asks the remote for its refs, at most once per RefsTTL for all callers.
func (m *mirror) refs(ctx context.Context) (*Refs, error) {
	m.mu.Lock()
	clock := m.store.opts.Clock
	if m.refsVal != nil && clock.Since(m.refsAt) < m.store.opts.RefsTTL {
		defer m.mu.Unlock()
		return m.refsVal, nil
	}
	if err := m.trouble.standing(clock.Now()); err != nil {
		m.mu.Unlock()
		return nil, err
	}
	forgets := m.forgets
	m.mu.Unlock()
	value, err := m.once(ctx, fmt.Sprint(keyRefs, forgets), func(ctx context.Context) (any, error) {
		out, err := m.remote(ctx, "list refs of", func(ctx context.Context, a *access, address string) ([]byte, error) {
			return m.store.git.runAs(ctx, a, "", "ls-remote", "--symref", "--", address)
		})
		m.mu.Lock()
		defer m.mu.Unlock()
		m.trouble.note(clock.Now(), err)
		if err != nil {
			return nil, err
		}
		if m.forgets != forgets && m.refsVal != nil {
			// Somebody who asked later may have been answered already.
			return parseRefs(out), nil
		}
		if m.forgets == forgets {
			m.refsAt = clock.Now()
		}
		if sum := digestOf(out); m.refsVal == nil || sum != m.refsRaw {
			m.refsVal, m.refsRaw = parseRefs(out), sum
		}
		return m.refsVal, nil
	})
	if err != nil {
		return nil, err
	}
	refs, _ := value.(*Refs)
	return refs, nil
}

// once runs f once for all who ask for key meanwhile.
func (m *mirror) once(ctx context.Context, key string, f func(context.Context) (any, error)) (any, error) {
	q := question{repo: m.repository(), asks: &m.asks, key: key, large: !strings.HasPrefix(key, keyRefs)}
	return m.store.ask(ctx, q, f)
}

// ensure makes the mirror hold the commit.
func (m *mirror) ensure(ctx context.Context, commit string) error {
	if m.has(commit) {
		return nil
	}
	_, err := m.once(ctx, "commit "+commit, func(ctx context.Context) (any, error) {
		unlock, err := m.lock(ctx, m.dir)
		if err != nil {
			return nil, err
		}
		defer unlock()
		if m.has(commit) {
			return struct{}{}, nil
		}
		m.examine(commit)
		if err := m.fetchUnlessTrouble(ctx, commit); err != nil {
			return nil, err
		}
		return struct{}{}, m.tidy(ctx)
	})
	return err
}

// fetchUnlessTrouble is fetch for a server that may have said lately that it has no
// time for us: commits are many.
func (m *mirror) fetchUnlessTrouble(ctx context.Context, commit string) error {
	clock := m.store.opts.Clock
	m.mu.Lock()
	err := m.fetching.standing(clock.Now())
	m.mu.Unlock()
	if err != nil {
		return err
	}
	err = m.fetch(ctx, commit)
	if err == nil || reasonOf(err).passing() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.fetching.note(clock.Now(), err)
	}
	return err
}

// fetch gets one commit without its history, or everything where a server does
// not give out single commits. A mirror that is damaged is made again.
func (m *mirror) fetch(ctx context.Context, commit string) error {
	if m.isBroken() {
		if err := m.discard(); err != nil {
			return err
		}
	}
	old := m.exists()
	err := m.fetchInto(ctx, commit)
	if err == nil && m.has(commit) {
		return nil
	}
	if old && (err == nil || reasonOf(err) == Other || reasonOf(err) == Damaged) {
		// Whatever an older process left behind, a new copy does not have it.
		if err := m.discard(); err != nil {
			return err
		}
		err = m.fetchInto(ctx, commit)
	}
	if err == nil && !m.has(commit) {
		err = &Error{
			Op: "fetch commit " + short(commit) + " of", URL: m.repository().Display(), Reason: NoRevision,
			Detail: "the repository does not have it any more", Hint: "choose another revision",
		}
	}
	return err
}

func (m *mirror) fetchInto(ctx context.Context, commit string) error {
	if err := m.init(ctx, m.dir); err != nil {
		return err
	}
	op := "fetch commit " + short(commit) + " of"
	_, err := m.remote(ctx, op, func(ctx context.Context, a *access, address string) ([]byte, error) {
		ref := "+" + commit + ":" + keptCommits + commit
		return m.store.git.runAs(ctx, a, m.dir, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--", address, ref)
	})
	if err == nil || reasonOf(err) != Other {
		return err
	}
	_, errAll := m.remote(ctx, "fetch", func(ctx context.Context, a *access, address string) ([]byte, error) {
		return m.store.git.runAs(ctx, a, m.dir, "fetch", "--quiet", "--force", "--prune", "--no-tags", "--no-write-fetch-head", "--",
			address, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
	})
	if errAll != nil {
		return errAll
	}
	if _, errRef := m.store.git.run(ctx, m.dir, "update-ref", keptCommits+commit, commit); errRef != nil {
		return gone(m.repository(), op, err)
	}
	return nil
}

// gone says that a repository does not have a commit any more; the server's own
// words, if they say that it does not give it out, are the cause.
func gone(repo Repository, op string, cause error) error {
	return &Error{
		Op: op, URL: repo.Display(), Reason: NoRevision,
		Detail: "no branch or tag reaches it any more", Hint: "choose another revision", Err: cause,
	}
}

// init makes a bare repository. A directory that an interrupted first run left
// half-made is made again, and locks of commands that were killed are removed: who
// calls holds the lock of ours.
func (m *mirror) init(ctx context.Context, dir string) error {
	if makeOf(dir) != "" {
		for _, name := range []string{"shallow.lock", "packed-refs.lock", "config.lock", "HEAD.lock"} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("remove stale lock of repository copy: %w", err)
			}
		}
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("clear half-made copy: %w", err)
	}
	if _, err := m.store.git.run(ctx, "", "init", "--quiet", "--bare", dir); err != nil {
		return m.fail("make a copy of", nil, err)
	}
	if err := writeFile(filepath.Join(dir, makeFile), []byte(rand.Text())); err != nil {
		return fmt.Errorf("make a copy of a repository: %w", err)
	}
	return nil
}

// makeFile is in a copy that was made completely; its content differs each time.
const makeFile = "wavetrain"

func makeOf(dir string) string {
	data, err := os.ReadFile(filepath.Join(dir, makeFile))
	if err != nil {
		return ""
	}
	return string(data)
}

// noteBroken says that the copy is damaged.
func (m *mirror) noteBroken() { m.broken.Store(m.read.Load()) }

func (m *mirror) isBroken() bool {
	made, ok := m.broken.Load().(string)
	return ok && made == makeOf(m.dir)
}

func (m *mirror) exists() bool {
	_, err := os.Stat(m.dir)
	return err == nil
}

// discard deletes the copy. Who reads it at this moment fails and tries again.
func (m *mirror) discard() error {
	m.objects.forget()
	if err := os.RemoveAll(m.dir); err != nil {
		return fmt.Errorf("delete damaged copy of %s: %w", m.repository().Display(), err)
	}
	return nil
}

func (m *mirror) has(commit string) bool {
	made := makeOf(m.dir)
	if made == "" || m.isBroken() {
		return false
	}
	if m.read.Swap(made) != made {
		// The process, if there is one, reads a copy that is gone.
		m.objects.forget()
		m.complete.Clear()
	}
	_, err := m.objects.root(commit)
	return err == nil && m.fetched(commit)
}

// examine finds out why the copy lacks a commit: because it was never fetched, or
// because the copy is damaged. Nobody else writes to it meanwhile.
func (m *mirror) examine(commit string) {
	if makeOf(m.dir) == "" {
		return
	}
	_, err := m.objects.root(commit)
	if err != nil && !errors.Is(err, errNoProcess) && (errors.Is(err, errDamaged) || !errors.Is(err, errMissingObject)) {
		m.noteBroken()
	}
}

// lock keeps other processes from writing to the directory.
func (m *mirror) lock(ctx context.Context, dir string) (unlock func(), err error) {
	l := flock.New(dir + ".lock")
	if _, err := l.TryLockContext(ctx, 50*time.Millisecond); err != nil {
		return nil, fmt.Errorf("wait for another process that fetches %s: %w", m.repository().Display(), err)
	}
	// Closing gives the lock back in any case.
	return func() { _ = l.Close() }, nil
}

// expand turns an abbreviated commit id into the full one. That needs to know all
// commits, which a copy of their files does not: they get a copy of their own,
// without files where the server can leave them out.
func (m *mirror) expand(ctx context.Context, abbreviated string) (string, error) {
	dir := m.historyDir()
	value, err := m.once(ctx, "expand "+abbreviated, func(ctx context.Context) (any, error) {
		unlock, err := m.lock(ctx, dir)
		if err != nil {
			return "", err
		}
		defer unlock()
		if err := m.init(ctx, dir); err != nil {
			return "", err
		}
		if full, err := m.parseCommit(ctx, dir, abbreviated); err == nil {
			return full, nil
		}
		if err := m.fetchHistory(ctx, dir, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"); err != nil {
			return "", err
		}
		return m.parseCommit(ctx, dir, abbreviated)
	})
	if err != nil {
		return "", err
	}
	full, _ := value.(string)
	return full, nil
}

// historyDir is the copy that has all commits.
func (m *mirror) historyDir() string { return strings.TrimSuffix(m.dir, ".git") + "-history.git" }

func (m *mirror) fetchHistory(ctx context.Context, dir string, refs ...string) error {
	_, err := m.remote(ctx, "fetch the history of", func(ctx context.Context, a *access, address string) ([]byte, error) {
		return m.store.git.runAs(ctx, a, dir, append([]string{
			"fetch", "--quiet", "--force", "--prune", "--no-tags", "--no-write-fetch-head", "--filter=tree:0", "--", address,
		}, refs...)...)
	})
	return err
}

func (m *mirror) parseCommit(ctx context.Context, dir, abbreviated string) (string, error) {
	out, err := m.store.git.run(ctx, dir, "rev-parse", "--verify", "--quiet", abbreviated+"^{commit}")
	if err != nil {
		return "", err
	}
	full := strings.TrimSpace(string(out))
	if !isFullCommit(full) {
		return "", fmt.Errorf("%q is no commit", abbreviated)
	}
	return full, nil
}

func (m *mirror) repository() Repository {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.repo
}

func errNoAnswer(timeout time.Duration) error {
	return &noAnswerError{timeout}
}

// noAnswerError is the cause of a command that took too long.
type noAnswerError struct{ after time.Duration }

func (e *noAnswerError) Error() string { return fmt.Sprintf("no answer within %s", e.after) }

func short(commit string) string { return commit[:min(7, len(commit))] }
