// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"strings"
	"sync"
	"time"
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

// busy is the error of a question that was not asked.
func busy(op string, repo Repository) error {
	return &Error{Op: op, URL: repo.Display(), Reason: Unavailable, Detail: "the server is slow, and others wait for it already", Hint: "it is asked again in a moment", Err: ErrBusy}
}
