// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wavetrain/wavetrain/internal/controller"
)

// stay watches the rollout until the run is over: by Ctrl-C, because everything
// is in order and nothing else is asked for, or because it cannot become so.
func (u *up) stay(ctx context.Context) error {
	var timeUp <-chan time.Time
	if u.bounded() {
		timer := time.NewTimer(u.flags.timeout.Duration - time.Since(u.began))
		defer timer.Stop()
		timeUp = timer.C
	}
	commits := u.repo.follow(ctx)
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	var calmSince time.Time
	for {
		select {
		case <-ctx.Done():
			return u.interrupted(ctx)
		case err := <-u.ended:
			return err
		case commit := <-commits:
			if err := u.rollOut(ctx, commit); err != nil {
				return err
			}
		case <-timeUp:
			return u.timedOut()
		case now := <-ticker.C:
			if err := u.applyLater(ctx); err != nil {
				return err
			}
			if calmSince = u.calmSince(calmSince, now); !calmSince.IsZero() && now.Sub(calmSince) >= calm && !u.report.told {
				if err := u.tell(); err != nil || u.flags.whenSynced {
					return err
				}
			}
			if failed := u.apps.failed(now, u.flags.giveUp); u.flags.whenSynced && len(failed) > 0 {
				return u.gaveUp(failed)
			}
		}
	}
}

// calmSince is since when everything has been in order; zero while it is not.
func (u *up) calmSince(before, now time.Time) time.Time {
	switch {
	case len(u.later) > 0 || !u.apps.settled():
		return time.Time{}
	case before.IsZero():
		return now
	}
	return before
}

// rollOut makes the controller look at a new commit.
func (u *up) rollOut(ctx context.Context, commit string) error {
	u.board.Say(time.Now(), "commit %s", shortRevision(commit))
	u.report.next(u.recorder.Moments(), time.Now())
	u.apps.expect(commit)
	objects, err := u.repo.bootstrap()
	if err == nil {
		u.later, err = applyBootstrap(ctx, u.client, controller.DefaultNamespace, objects)
	}
	if err != nil && ctx.Err() == nil {
		// The commit is served all the same; what is applied by hand stays as it
		// was.
		u.board.Say(time.Now(), "%v", err)
	}
	for _, url := range u.apps.served() {
		if err := u.controller.Refresh(ctx, url); err != nil {
			return err
		}
	}
	return nil
}

// applyLater applies objects whose kind has come to be served.
func (u *up) applyLater(ctx context.Context) error {
	if len(u.later) == 0 {
		return nil
	}
	later, err := applyBootstrap(ctx, u.client, controller.DefaultNamespace, u.later)
	if err != nil && ctx.Err() == nil {
		return err
	}
	u.later = later
	return nil
}

// interrupted ends a run by Ctrl-C.
func (u *up) interrupted(ctx context.Context) error {
	switch {
	case u.report.broken:
		return withCode(exitFailed, nil)
	case u.report.told:
		return nil
	}
	return context.Cause(ctx)
}

// missing says what is not in order.
func (u *up) missing() []string {
	lines := u.apps.waiting()
	for _, obj := range u.later {
		lines = append(lines, obj.Key().Short()+": the cluster does not serve its kind")
	}
	if len(lines) == 0 {
		lines = []string{"no Application has appeared"}
	}
	return lines
}

func (u *up) timedOut() error {
	u.printLines(fmt.Sprintf("time is up after %s, still waiting for:", u.flags.timeout), u.missing())
	return withCode(exitTimeout, nil)
}

func (u *up) gaveUp(failed []string) error {
	u.printLines("not everything can be rolled out:", failed)
	return withCode(exitFailed, errors.New("an Application failed, see above"))
}

func (u *up) printLines(head string, lines []string) {
	u.show.Print(func() {
		fmt.Fprintln(u.streams.Err, head)
		for _, line := range lines {
			fmt.Fprintln(u.streams.Err, "  "+line)
		}
	})
}
