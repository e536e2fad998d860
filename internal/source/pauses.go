// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// longestPause bounds how long a server may have itself left alone.
const longestPause = time.Hour

// pauses are how long servers want to be left alone, by their hosts.
type pauses struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	until map[string]time.Time
}

// note takes down what an answer says of it.
func (p *pauses) note(host string, res *http.Response) {
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusServiceUnavailable {
		return
	}
	now := p.clock.Now()
	pause, ok := retryAfter(res.Header.Get("Retry-After"), now)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for known, until := range p.until {
		if now.After(until) {
			delete(p.until, known)
		}
	}
	p.until[strings.ToLower(host)] = now.Add(min(pause, longestPause))
}

// left is how long a server still wants to be left alone.
func (p *pauses) left(host string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, ok := p.until[strings.ToLower(host)]
	if !ok {
		return 0
	}
	return max(until.Sub(p.clock.Now()), 0)
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(header string, now time.Time) (time.Duration, bool) {
	if header == "" {
		return 0, false
	}
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(seconds) * time.Second, seconds >= 0
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0, false
	}
	return at.Sub(now), at.After(now)
}

// attentive is a transport that takes note of pauses.
type attentive struct {
	*http.Transport
	pauses *pauses
}

func (a attentive) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := a.Transport.RoundTrip(req)
	if err == nil {
		a.pauses.note(req.URL.Host, res)
	}
	return res, err
}

// pausing adds to a passing failure how long the server wants to be left alone.
func (s *Store) pausing(e *Error, url string) *Error {
	if !e.Reason.passing() {
		return e
	}
	if e.Pause = s.pauses.left(Host(url)); e.Pause > 0 {
		e.Detail += " and wants to be left alone for " + e.Pause.Round(time.Second).String()
	}
	return e
}

// askPause finds out how long a Git server wants to be left alone, which git does
// not tell: it asks once more what git has asked.
func (m *mirror) askPause(ctx context.Context, repo Repository, address string) {
	if !isHTTP(address) {
		return
	}
	creds, _ := repo.Credentials.withLogin(repo.fetchURL())
	client, err := m.store.httpClient(creds, address)
	if err != nil {
		return
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	req, err := m.uploadPackRequest(ctx, repo, creds, address)
	if err != nil {
		return
	}
	if res, err := client.Do(req); err == nil {
		_ = res.Body.Close()
	}
}

// uploadPack is where a Git server answers which refs there are.
const uploadPack = "/info/refs?service=git-upload-pack"

// uploadPackRequest is git's first request to a server.
func (m *mirror) uploadPackRequest(ctx context.Context, repo Repository, creds Credentials, address string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+uploadPack, http.NoBody)
	if err != nil {
		return nil, err
	}
	header, err := m.store.authorization(ctx, repo, creds)
	if err != nil {
		return nil, err
	}
	if header != "" {
		req.Header.Set("Authorization", header)
	}
	return req, nil
}
