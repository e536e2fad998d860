// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package window decides by the sync windows of a project whether an Application
// may be synced at a given time, and says when the answer may change.
//
// The room is pure: it is given the time. Waiting for a window is the
// controller's.
package window

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	// The zones are part of the program: windows open at the same time wherever it
	// runs.
	_ "time/tzdata"

	"github.com/gobwas/glob"
	"github.com/robfig/cron/v3"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// Kinds of windows.
const (
	allow = "allow"
	deny  = "deny"
)

// Subject is an Application as windows select it.
type Subject struct {
	Application string
	// Namespace, Server and Cluster are the destination's namespace, address and
	// name.
	Namespace, Server, Cluster string
}

// Sync is the operation that wants to run.
type Sync struct {
	// Manual is true when a person asked for it.
	Manual bool
	// Started is when it began, zero before.
	Started time.Time
}

// Decision is whether a sync may run now.
type Decision struct {
	Allowed bool
	// Reason says which window forbids it.
	Reason string
	// Changes is when the decision may become another one; zero for never.
	Changes time.Time
}

// Decide answers for a sync of the subject at a time.
func Decide(windows []v1alpha1.SyncWindow, subject Subject, sync Sync, now time.Time) Decision {
	var applicable []state
	for i := range windows {
		w := &windows[i]
		if !applies(w, subject) {
			continue
		}
		s, err := stateAt(w, now)
		if err != nil {
			return Decision{Reason: fmt.Sprintf("sync window %s cannot be read and so blocks every sync: %v", title(w), err)}
		}
		applicable = append(applicable, s)
	}
	d := Decision{Allowed: true}
	if blocking := blockers(applicable); len(blocking) > 0 {
		d.Allowed = sync.Manual && all(blocking, func(w *v1alpha1.SyncWindow) bool { return w.ManualSync }) ||
			overruns(windows, subject, sync, blocking)
		if !d.Allowed {
			d.Reason = reason(blocking)
		}
	}
	for _, s := range applicable {
		for _, at := range []time.Time{s.opens, s.closes} {
			if !at.IsZero() && (d.Changes.IsZero() || at.Before(d.Changes)) {
				d.Changes = at
			}
		}
	}
	return d
}

// blockers returns the windows that forbid a sync: every open deny window; when
// there is none and no allow window is open, the allow windows that are closed.
func blockers(windows []state) []state {
	pick := func(kind string, open bool) []state {
		var list []state
		for _, s := range windows {
			if s.window.Kind == kind && s.open() == open {
				list = append(list, s)
			}
		}
		return list
	}
	if denies := pick(deny, true); len(denies) > 0 {
		return denies
	}
	if len(pick(allow, true)) > 0 {
		return nil
	}
	return pick(allow, false)
}

// overruns reports whether a sync that was allowed when it began may go on.
func overruns(windows []v1alpha1.SyncWindow, subject Subject, sync Sync, blocking []state) bool {
	if sync.Started.IsZero() || !all(blocking, func(w *v1alpha1.SyncWindow) bool { return w.SyncOverrun }) {
		return false
	}
	return Decide(windows, subject, Sync{Manual: sync.Manual}, sync.Started).Allowed
}

func all(windows []state, holds func(*v1alpha1.SyncWindow) bool) bool {
	return !slices.ContainsFunc(windows, func(s state) bool { return !holds(s.window) })
}

// applies reports whether a window selects the subject: by one of the dimensions
// that it gives, or by all of them if it says so. One that gives none selects
// nothing.
func applies(w *v1alpha1.SyncWindow, s Subject) bool {
	given, matched := 0, 0
	for _, dimension := range []struct{ patterns, values []string }{
		{w.Applications, []string{s.Application}},
		{w.Namespaces, []string{s.Namespace}},
		{w.Clusters, []string{s.Cluster, s.Server}},
	} {
		if len(dimension.patterns) == 0 {
			continue
		}
		given++
		if matchesAny(dimension.patterns, dimension.values) {
			matched++
		}
	}
	if w.UseAndOperator {
		return given > 0 && matched == given
	}
	return matched > 0
}

func matchesAny(patterns, values []string) bool {
	return slices.ContainsFunc(patterns, func(text string) bool {
		g, err := glob.Compile(text)
		return err == nil && slices.ContainsFunc(values, func(v string) bool { return v != "" && g.Match(v) })
	})
}

// state is a window at a time.
type state struct {
	window *v1alpha1.SyncWindow
	// opens is when it opens next; closes is when it closes, zero if it is closed.
	opens, closes time.Time
}

func (s state) open() bool { return !s.closes.IsZero() }

func stateAt(w *v1alpha1.SyncWindow, now time.Time) (state, error) {
	if w.Kind != allow && w.Kind != deny {
		return state{}, fmt.Errorf("kind %q is neither allow nor deny", w.Kind)
	}
	fields := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	schedule, err := fields.Parse(w.Schedule)
	if err != nil {
		return state{}, fmt.Errorf("schedule %q: %w", w.Schedule, err)
	}
	duration, err := time.ParseDuration(w.Duration)
	if err != nil {
		return state{}, fmt.Errorf("duration %q: %w", w.Duration, errors.New("want one like 1h30m"))
	}
	zone, err := time.LoadLocation(w.TimeZone)
	if err != nil {
		zone = time.UTC
	}
	now = now.In(zone)
	s := state{window: w, opens: schedule.Next(now)}
	// The first opening after now - duration is one that has not closed yet; it is
	// open if it is not still to come.
	if opened := schedule.Next(now.Add(-duration)); !opened.IsZero() && !opened.After(now) {
		s.closes = opened.Add(duration)
	}
	return s, nil
}

// reason says which windows block, and until when.
func reason(blocking []state) string {
	var parts []string
	for _, s := range blocking {
		switch {
		case s.open():
			parts = append(parts, fmt.Sprintf("deny window %s is open until %s", title(s.window), s.closes.UTC().Format(time.RFC3339)))
		case s.opens.IsZero():
			parts = append(parts, fmt.Sprintf("allow window %s never opens", title(s.window)))
		default:
			parts = append(parts, fmt.Sprintf("allow window %s opens at %s", title(s.window), s.opens.UTC().Format(time.RFC3339)))
		}
	}
	return strings.Join(parts, ", ")
}

// title names a window for people.
func title(w *v1alpha1.SyncWindow) string {
	text := fmt.Sprintf("%q for %s", w.Schedule, w.Duration)
	if w.TimeZone != "" {
		text += " (" + w.TimeZone + ")"
	}
	if w.Description != "" {
		text += " – " + w.Description + " –"
	}
	return text
}
