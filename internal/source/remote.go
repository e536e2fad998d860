// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// remote runs a git command that talks to the repository, with access to it.
func (m *mirror) remote(ctx context.Context, op string, run func(context.Context, *access, string) ([]byte, error)) (out []byte, err error) {
	repo := m.repository()
	a, address, err := m.store.access(ctx, repo)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	m.mu.Lock()
	if m.moved != "" {
		address = m.moved
	}
	m.mu.Unlock()
	out, err = run(ctx, a, address)
	if err == nil {
		return out, nil
	}
	failed := m.fail(op, a, err)
	switch reasonOf(failed) {
	case Redirected:
	case RateLimited, Unavailable:
		if saysLater(failed) {
			m.askPause(ctx, repo, address)
			failed = m.fail(op, a, err)
		}
		return nil, failed
	default:
		return nil, failed
	}
	moved, errMoved := m.follow(ctx, op, repo, address)
	if errMoved != nil {
		return nil, errMoved
	}
	m.mu.Lock()
	m.moved = moved
	m.mu.Unlock()
	if out, err = run(ctx, a, moved); err != nil {
		return nil, m.fail(op, a, err)
	}
	return out, nil
}

// follow finds out where a server redirects to. Only places on the same host
// will do: another host would get our credentials, or be one that only we reach.
func (m *mirror) follow(ctx context.Context, op string, repo Repository, address string) (string, error) {
	refuse := func(detail string, err error) error {
		return &Error{Op: op, URL: repo.Display(), Reason: Redirected, Detail: detail, Hint: advice(repo, Redirected), Err: err}
	}
	creds, _ := repo.Credentials.withLogin(repo.fetchURL())
	client, err := m.store.httpClient(creds, address)
	if err != nil {
		return "", err
	}
	home, err := url.Parse(address)
	if err != nil {
		return "", refuse("the URL cannot be read", err)
	}
	var outside error
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) >= maxRedirects {
			outside = errors.New("the server redirects in a circle")
		} else if req.URL.Host != home.Host || req.URL.Scheme != home.Scheme {
			outside = fmt.Errorf("the server redirects to another host, %s://%s", req.URL.Scheme, req.URL.Host)
		}
		return outside
	}
	req, err := m.uploadPackRequest(ctx, repo, creds, address)
	if err != nil {
		return "", err
	}
	res, err := client.Do(req)
	if outside != nil {
		return "", refuse(outside.Error(), nil)
	}
	if err != nil {
		_, detail := httpTrouble(ctx, err)
		return "", refuse(detail, err)
	}
	_ = res.Body.Close()
	moved, ok := strings.CutSuffix(res.Request.URL.String(), uploadPack)
	if !ok {
		return "", refuse("the server redirects to "+res.Request.URL.Redacted()+", which is no Git repository", nil)
	}
	return moved, nil
}

// fail turns the failure of a git command into an Error.
func (m *mirror) fail(op string, a *access, err error) error {
	repo := m.repository()
	var known *Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) {
		return err
	}
	e := &Error{Op: op, URL: repo.Display(), Reason: Other, Detail: a.censor(err.Error()), Err: err}
	var said *commandError
	var silent *noAnswerError
	switch {
	case errors.As(err, &said):
		e.Reason, e.Detail, e.Hint = diagnose(repo, said.said)
		if trouble := a.proxyTrouble(); trouble != "" {
			e.Reason, e.Detail, e.Hint = Unavailable, trouble, advice(repo, Unavailable)
		}
	case errors.As(err, &silent), errors.Is(err, context.DeadlineExceeded):
		e.Reason, e.Hint = Unavailable, advice(repo, Unavailable)
	}
	return m.store.pausing(e, repo.fetchURL())
}

// saysLater tells whether a server has answered that it may answer later.
func saysLater(err error) bool {
	said, ok := errors.AsType[*commandError](err)
	return ok && (strings.Contains(said.said, "returned error: 429") || strings.Contains(said.said, "returned error: 503"))
}

// reasonOf is the reason of an Error, Other for anything else.
func reasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return Other
}

// trouble remembers a failure, so that a thousand Applications of a repository
// that cannot be read do not ask it a thousand times.
type trouble struct {
	err   error
	count int
	until time.Time
}

const (
	troubleShort = 5 * time.Second
	troubleLong  = 5 * time.Minute
)

// note remembers how an attempt has ended.
func (t *trouble) note(now time.Time, err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		*t = trouble{}
		return
	}
	t.err = err
	wait := troubleShort
	if reasonOf(err).passing() {
		// A server that has too much to do is not helped by being asked.
		for range min(t.count, 10) {
			wait *= 2
		}
		t.count++
	}
	wait = min(wait, troubleLong)
	if e, ok := errors.AsType[*Error](err); ok {
		wait = max(wait, e.Pause)
	}
	t.until = now.Add(wait)
}

// standing returns the failure while it is too early to try again.
func (t *trouble) standing(now time.Time) error {
	if t.err != nil && now.Before(t.until) {
		return t.err
	}
	return nil
}

func digestOf(data []byte) [32]byte { return sha256.Sum256(data) }
