// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"fmt"
	"time"
)

// Next says how long it takes until the simulation does something by itself: a Pod gets ready, a Job succeeds, an
// operator writes a status. Pending is false if it only waits for others; the restart of a container that has crashed does
// not count.
func (s *Sandbox) Next(ctx context.Context) (in time.Duration, pending bool, err error) {
	s.control.Lock()
	defer s.control.Unlock()
	value, err := s.request(ctx, "next")
	if err != nil || value == "" {
		return 0, false, err
	}
	if in, err = time.ParseDuration(value); err != nil {
		return 0, false, fmt.Errorf("read answer of sandbox: %w", err)
	}
	return in, true, nil
}

// Skip lets time of the simulation pass at once: what its rules say would happen by then happens now. Objects show the
// real time at which it does, and upstream's controllers know of nothing else: what they time themselves, such as the
// pause before a Job's next attempt, is not shortened.
func (s *Sandbox) Skip(ctx context.Context, d time.Duration) error {
	s.control.Lock()
	defer s.control.Unlock()
	_, err := s.request(ctx, "skip="+d.String())
	return err
}
