// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// ErrBusy is wrapped by the error of a question that was not asked because others
// wait for an answer of the same server already, which is known to be slow: whoever
// asks has other things to do meanwhile.
var ErrBusy = errors.New("others wait for it already")

const (
	// maxWaiting is how many may wait for a server that is slow.
	maxWaiting = 2
	// slowAnswer is from when on a server is slow.
	slowAnswer = 5 * time.Second
)

// patience knows who waits for which server.
type patience struct {
	mu      sync.Mutex
	waiting map[string]int
	// slow are the servers whose last answer was slow, or did not come.
	slow map[string]bool
}

// enter lets a caller wait for a host, unless that is known to be slow and enough
// others do. The caller leaves with how it was answered.
func (p *patience) enter(host string) (leave func(err error, took time.Duration), ok bool) {
	host = strings.ToLower(host)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slow[host] && p.waiting[host] >= maxWaiting {
		return nil, false
	}
	p.waiting[host]++
	return func(err error, took time.Duration) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.waiting[host]--; p.waiting[host] == 0 {
			delete(p.waiting, host)
		}
		switch {
		case reasonOf(err) == Unavailable || took > slowAnswer:
			p.slow[host] = true
		case err == nil:
			delete(p.slow, host)
		}
	}, true
}

// question is something that is asked of a server once for all who ask it meanwhile.
type question struct {
	repo  Repository
	asks  *singleflight.Group
	key   string
	large bool // the answer may be: that it takes long says nothing of the server
}

// ask goes on when the one who asked first gives up.
func (s *Store) ask(ctx context.Context, q question, f func(context.Context) (any, error)) (value any, err error) {
	timeout, began := s.opts.Timeout, time.Now()
	leave, ok := s.patience.enter(hostOf(q.repo.fetchURL()))
	if !ok {
		return nil, busy("ask", q.repo)
	}
	defer func() {
		took := time.Since(began)
		if q.large {
			took = 0
		}
		leave(err, took)
	}()
	done := q.asks.DoChan(q.key, func() (any, error) {
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), timeout, errNoAnswer(timeout))
		defer cancel()
		return f(ctx)
	})
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case res := <-done:
		return res.Val, res.Err
	}
}

// hostOf is the host of a URL that may lack its scheme, as those of registries do.
func hostOf(address string) string {
	if !strings.Contains(address, "://") && !strings.Contains(address, "@") {
		address = "oci://" + address
	}
	return Host(address)
}

// busy is the error of a question that was not asked.
func busy(op string, repo Repository) error {
	return &Error{Op: op, URL: repo.Display(), Reason: Unavailable, Detail: "the server is slow, and others wait for it already", Hint: "it is asked again in a moment", Err: ErrBusy}
}
