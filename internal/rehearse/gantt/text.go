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

	"github.com/wavetrain/wavetrain/internal/rehearse"
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

// Text writes the waves with what each took, the operations, and how things stand.
func Text(r *rehearse.Result) string {
	var b strings.Builder
	for _, span := range Spans(r) {
		fmt.Fprintf(&b, "%s\n", span.text())
	}
	if len(r.Operations) > 0 {
		b.WriteString("\noperations\n")
	}
	for _, o := range r.Operations {
		took := ""
		if o.FinishedAt != nil {
			took = fmt.Sprintf(" after %s", o.FinishedAt.Sub(o.StartedAt).Round(time.Second))
		}
		fmt.Fprintf(&b, "  %s %s attempt %d: %s%s: %s\n", o.App, o.Rev, o.Attempt, o.Phase, took, o.Message)
	}
	b.WriteString("\nat the end\n")
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
		fmt.Fprintf(&b, "  hangs: %s\n", h)
	}
	if r.Converged {
		b.WriteString("\neverything converged\n")
	} else {
		b.WriteString("\nnot everything converged\n")
	}
	return b.String()
}
