// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Bounds of a value file from another host.
const (
	maxValueFile = 4 << 20
	// valueFileFor is how long an answer is taken for granted, so that a thousand
	// Applications that share a file ask for it once.
	valueFileFor = time.Minute
)

type valueFile struct {
	content []byte
	at      time.Time
}

// ValueFile reads a value file from a URL, without credentials, if its scheme is
// among those allowed.
func (s *Store) ValueFile(ctx context.Context, address string, schemes []string) ([]byte, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "":
		return nil, fmt.Errorf("%q is no URL", address)
	case !slices.Contains(schemes, strings.ToLower(u.Scheme)):
		return nil, fmt.Errorf("files are not read by %s here (helm.valuesFileSchemes allows %s)", u.Scheme, strings.Join(schemes, ", "))
	case u.User != nil:
		return nil, fmt.Errorf("a URL with a password in it is not read")
	}
	now := s.opts.Clock.Now()
	s.mu.Lock()
	known, ok := s.valueFiles[address]
	s.mu.Unlock()
	if ok && now.Sub(known.at) < valueFileFor {
		return known.content, nil
	}
	content, err := s.readValueFile(ctx, address)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.valueFiles) >= maxValueFiles {
		clear(s.valueFiles)
	}
	s.valueFiles[address] = valueFile{content: content, at: now}
	return content, nil
}

// maxValueFiles bounds how many are remembered.
const maxValueFiles = 256

func (s *Store) readValueFile(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	// No host is configured for it, so none that only we can reach is asked.
	client, err := s.httpClient(Credentials{}, "")
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answers %s", resp.Status)
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxValueFile+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxValueFile {
		return nil, fmt.Errorf("the file is larger than %d MiB", maxValueFile>>20)
	}
	return content, nil
}
