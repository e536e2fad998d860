// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/event"
)

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 10 * time.Second
	// callTimeout bounds a single call, so that a server that accepts connections
	// and never answers counts as one that cannot be reached.
	callTimeout = 30 * time.Second
	// settlingTime is how long writes into a namespace that is being deleted are
	// tried again.
	settlingTime = 30 * time.Second
)

// errInterrupted is the error of an action that ended without an answer because
// the run was stopped or abandoned.
var errInterrupted = errors.New("interrupted")

// permanent marks an error that a retry cannot mend.
type permanent struct{ error }

// Unwrap returns the error itself.
func (p permanent) Unwrap() error { return p.error }

// trouble is a transient error that is being retried.
type trouble struct {
	message string
	since   time.Time
}

// try calls f until it succeeds, fails for good, or nothing but transient errors
// came for as long as a gate may go without progress.
func (r *Run) try(ctx context.Context, what string, f func(context.Context) error) error {
	clock := r.driver.opts.Clock
	begun, pause := clock.Now(), firstPause
	for {
		err := r.call(ctx, f)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || errors.Is(err, errInterrupted) {
			return errInterrupted
		}
		elapsed := clock.Since(begun)
		if final(err, elapsed) || elapsed >= r.limits.NoProgress {
			return err
		}
		r.troubled(what, err, begun)
		if !r.pause(ctx, pause) {
			return errInterrupted
		}
		pause = min(2*pause, maxPause)
	}
}

// call makes a call when it is this operation's turn.
func (r *Run) call(ctx context.Context, f func(context.Context) error) error {
	if !r.driver.opts.Queue.take(ctx, r.turn) {
		return errInterrupted
	}
	defer r.driver.opts.Queue.give()
	r.began()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return f(ctx)
}

// pause waits before a retry; it reports false if the run is to end instead.
func (r *Run) pause(ctx context.Context, d time.Duration) bool {
	timer := r.driver.opts.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-r.interrupted():
		return false
	case <-timer.C():
		return true
	}
}

// interrupted is closed when retries are to end; never once the attempt has its
// outcome and only tidies up.
func (r *Run) interrupted() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.record.Outcome != nil {
		return nil
	}
	return r.stop
}

// troubled makes a transient error visible.
func (r *Run) troubled(what string, err error, since time.Time) {
	t := trouble{message: fmt.Sprintf("%s: %s; trying again", what, worded(err)), since: since}
	r.mu.Lock()
	known := r.trouble.message == t.message
	r.trouble = t
	r.mu.Unlock()
	if !known {
		r.publish([]event.Event{{Type: event.Waiting, Message: t.message, Since: since}})
	}
}

func (r *Run) settled() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trouble = trouble{}
}

// persist calls f until it succeeds or fails for good; it never gives up.
func (r *Run) persist(ctx context.Context, f func() error) error {
	begun, pause := r.driver.opts.Clock.Now(), firstPause
	defer r.settled()
	for {
		err := f()
		if err == nil {
			return nil
		}
		if p := (permanent{}); errors.As(err, &p) {
			return p.error
		}
		r.troubled("save the release record", err, begun)
		timer := r.driver.opts.Clock.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C():
		}
		pause = min(2*pause, maxPause)
	}
}

// final reports whether the API server has refused a request in a way that
// trying again cannot change.
func final(err error, elapsed time.Duration) bool {
	if p := (permanent{}); errors.As(err, &p) {
		return true
	}
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		// It ends by itself: the namespace will be gone and can be made anew.
		return elapsed >= settlingTime
	}
	return cluster.IsRejected(err)
}

// retryable reports whether a failed step may succeed on a timer: after transient
// errors and after refusals for want of permission or quota, which nobody
// announces when they end.
func retryable(err error) bool {
	return !final(err, 0) || apierrors.IsForbidden(err)
}

// worded gives an error in one line, without what its place already says: which
// object, on which server.
func worded(err error) string {
	text := err.Error()
	var e *cluster.Error
	if errors.As(err, &e) && cluster.IsRejected(err) {
		text = strings.TrimPrefix(text, e.Op+" "+e.Key.String()+" on "+e.Server+": ")
	}
	return strings.Join(strings.Fields(text), " ")
}
