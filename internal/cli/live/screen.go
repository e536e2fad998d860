// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// screen redraws rows in place.
type screen struct {
	w    io.Writer
	size func() (columns, lines int)
	// frame is what is on the screen now.
	frame []string
}

const (
	clearBelow = "\x1b[J"
	clearRest  = "\x1b[K"
)

func (s *screen) draw(now time.Time, said []line, rows []Row) {
	if len(said) > 0 {
		s.clear()
		for _, l := range said {
			fmt.Fprintln(s.w, l.text)
		}
	}
	frame := s.layOut(now, rows)
	if strings.Join(frame, "\n") == strings.Join(s.frame, "\n") {
		return
	}
	var out strings.Builder
	out.WriteString(up(len(s.frame)))
	for _, text := range frame {
		out.WriteString(text + clearRest + "\n")
	}
	if len(frame) < len(s.frame) {
		out.WriteString(clearBelow)
	}
	s.frame = frame
	// A terminal that is gone cannot be told so.
	_, _ = io.WriteString(s.w, out.String())
}

func (s *screen) clear() {
	if len(s.frame) > 0 {
		_, _ = io.WriteString(s.w, up(len(s.frame))+clearBelow)
	}
	s.frame = nil
}

func up(lines int) string {
	if lines == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\r", lines)
}

// layOut fits the rows to the screen. Rows that are done give way first; when
// all are done there is nothing to show.
func (s *screen) layOut(now time.Time, rows []Row) []string {
	columns, lines := s.size()
	open := 0
	for _, r := range rows {
		if !r.Done {
			open++
		}
	}
	if open == 0 {
		return nil
	}
	room, hidden, hiddenDone := max(lines-2, 3), 0, 0
	nameWidth, placeWidth := widths(rows)
	var frame []string
	for _, r := range rows {
		switch {
		case r.Done && len(rows) > room:
			hiddenDone++
		case len(frame) >= room:
			hidden++
		default:
			frame = append(frame, format(r, nameWidth, placeWidth, columns-1, now))
		}
	}
	if rest := remainder(hidden, hiddenDone); rest != "" {
		frame = append(frame, rest)
	}
	return frame
}

func remainder(hidden, done int) string {
	switch {
	case hidden > 0 && done > 0:
		return fmt.Sprintf("and %d more, %d done", hidden, done)
	case hidden > 0:
		return fmt.Sprintf("and %d more", hidden)
	case done > 0:
		return fmt.Sprintf("and %d done", done)
	}
	return ""
}
