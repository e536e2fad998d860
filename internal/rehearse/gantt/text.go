// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package gantt writes what a rehearsal has seen: for a terminal and as a page.
package gantt

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/rehearse"
	"github.com/wavetrain/wavetrain/internal/report/path"
)

// Line is an event in a line, with the time since the beginning.
func Line(e rehearse.Event, began time.Time) string {
	at := e.Time.Sub(began).Seconds()
	if e.What == "step" {
		return fmt.Sprintf("%6.1fs  == %s", at, e.Detail)
	}
	object := e.Object
	if e.Namespace != "" {
		object += " in " + e.Namespace
	}
	line := fmt.Sprintf("%6.1fs  %-9s  %s", at, e.What, object)
	if e.Detail != "" {
		line += "  " + e.Detail
	}
	return line
}

// Progress is the progress of an operation in a line; empty for what happens too
// often to be told.
func Progress(e event.Event, began time.Time) string {
	text := ""
	switch e.Type {
	case event.GroupStarted:
		text = fmt.Sprintf("%s wave %d (%d/%d)", e.Phase, e.Wave, e.Group, e.Groups)
	case event.Waiting, event.OperationFinished:
		text = e.Message
	case event.StepFailed:
		text = e.Object.Short() + ": " + e.Message
	case event.OperationStarted, event.StepApplied, event.StepSucceeded, event.StepPruned, event.GroupPassed:
		return ""
	}
	_, app, _ := strings.Cut(e.App, "/")
	return fmt.Sprintf("%6.1fs  %s: %s", e.Time.Sub(began).Seconds(), app, text)
}

// Text writes the rollouts with the time of each wave, and how things stand.
func Text(r *rehearse.Result) string {
	var b strings.Builder
	for _, rollout := range r.Rollouts {
		writeRollout(&b, rollout)
	}
	b.WriteString("at the end\n")
	for _, name := range slices.Sorted(maps.Keys(r.Final.Apps)) {
		a := r.Final.Apps[name]
		fmt.Fprintf(&b, "  %s: %s, %s\n", name, a.Sync, a.Health)
		for _, c := range a.Conditions {
			fmt.Fprintf(&b, "    %s\n", c)
		}
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "  %s: %s [%s]\n", f.Severity, f.Message, f.Code)
	}
	for _, u := range r.Unsettled {
		fmt.Fprintf(&b, "  %s\n", u)
	}
	for _, h := range r.Hung {
		for _, line := range h.Text {
			fmt.Fprintf(&b, "  %s hangs: %s\n", h.App, line)
		}
	}
	if r.Converged {
		b.WriteString("\neverything converged\n")
	} else {
		b.WriteString("\nnot everything converged\n")
	}
	return b.String()
}

// barWidth is the width of the whole rollout in characters.
const barWidth = 40

// tellingTime is what an object must have taken to be shown below its wave.
const tellingTime = 100 * time.Millisecond

func writeRollout(b *strings.Builder, r rehearse.Rollout) {
	fmt.Fprintf(b, "%s %s, attempt %d: %s: %s\n", r.App, r.Rev, r.Attempt, seconds(r.Took.Duration), r.Message)
	for _, w := range r.Waves {
		fmt.Fprintf(b, "  %-9s %3d  %s %7s\n", w.Phase, w.Wave, bar(w.Start.Duration, w.Took.Duration, r.Took.Duration), took(w.Took.Duration, w.Open))
		for _, s := range r.Steps {
			if s.Phase == w.Phase && s.Wave == w.Wave && (s.Took.Duration >= tellingTime || s.Outcome == "open" || s.Outcome == "failed") {
				fmt.Fprintf(b, "    %-50s %7s  %s\n", s.Object, seconds(s.Took.Duration), s.Outcome)
			}
		}
	}
	if len(r.Critical) > 0 {
		fmt.Fprintf(b, "  critical path: %s\n", Critical(r.Critical))
	}
	b.WriteString("\n")
}

// Critical is the critical path in a line.
func Critical(links []path.Link) string {
	words := make([]string, len(links))
	for i, l := range links {
		words[i] = fmt.Sprintf("%s/%d %s %s", l.Phase, l.Wave, l.Object, took(l.Took.Duration, l.Open))
	}
	return strings.Join(words, ", ")
}

func took(d time.Duration, open bool) string {
	if open {
		return seconds(d) + " and not done"
	}
	return seconds(d)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// bar draws a share of the whole.
func bar(start, length, whole time.Duration) string {
	if whole <= 0 {
		return strings.Repeat(" ", barWidth)
	}
	from := min(int(barWidth*start/whole), barWidth-1)
	to := min(max(int(barWidth*(start+length)/whole), from+1), barWidth)
	return strings.Repeat(" ", from) + strings.Repeat("█", to-from) + strings.Repeat(" ", barWidth-to)
}
