// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package gantt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetrain/wavetrain/internal/rehearse"
)

// Span is the time that an object took from when it was written until it was
// ready.
type Span struct {
	App, Rev, Object string
	Start, End       time.Time
	// Offset is Start since the first event.
	Offset time.Duration
	// What became of it: ready, completed, failed, or empty for what is passive.
	Outcome string
}

// Spans returns the spans of the objects that Applications manage, in the order
// of their beginning.
func Spans(r *rehearse.Result) []Span {
	var spans []Span
	open := map[string]int{}
	var first time.Time
	for _, e := range r.Events {
		if first.IsZero() {
			first = e.Time
		}
		id := e.Namespace + "/" + e.Object
		switch e.What {
		case "created", "patched":
			if e.App == "" {
				continue
			}
			if _, running := open[id]; running {
				continue
			}
			open[id] = len(spans)
			spans = append(spans, Span{App: e.App, Rev: e.Rev, Object: e.Object, Start: e.Time, End: e.Time, Offset: e.Time.Sub(first)})
		case "ready", "completed", "failed":
			if i, running := open[id]; running {
				spans[i].End, spans[i].Outcome = e.Time, e.What
				delete(open, id)
			}
		case "deleted":
			delete(open, id)
		}
	}
	slices.SortStableFunc(spans, func(a, b Span) int { return a.Start.Compare(b.Start) })
	return spans
}

// width of a bar in characters, and how long a character stands for.
const (
	barWidth = 40
	tick     = 500 * time.Millisecond
)

func (s Span) text() string {
	length := min(max(int(s.End.Sub(s.Start)/tick), 1), barWidth)
	return fmt.Sprintf("%6.1fs  %-5s %-14s %-44s %-40s %s", s.Offset.Seconds(), s.Rev, s.App, s.Object, strings.Repeat("█", length),
		strings.TrimSpace(fmt.Sprintf("%.1fs %s", s.End.Sub(s.Start).Seconds(), s.Outcome)))
}
