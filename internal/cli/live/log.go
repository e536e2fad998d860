// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"io"
	"time"
)

// log appends a line for everything that changes.
type log struct {
	w     io.Writer
	start time.Time
	// last is what was written of each row, written when anything was.
	last    map[string]string
	written time.Time
}

func (l *log) draw(now time.Time, said []line, rows []Row) {
	for _, s := range said {
		l.write(s.at, now, s.text)
	}
	nameWidth, _ := widths(rows)
	for _, r := range rows {
		bare := r
		bare.Since = time.Time{}
		text := format(bare, nameWidth, len(r.Place), now)
		if key := r.Place + "\x00" + r.Text; r.Text != "" && l.last[r.Name] != key {
			l.last[r.Name] = key
			l.write(now, now, text)
		}
	}
	if l.written.IsZero() || now.Sub(l.written) < heartbeat {
		return
	}
	for _, r := range rows {
		if !r.Done {
			l.write(now, now, "still "+format(r, nameWidth, len(r.Place), now))
		}
	}
}

func (l *log) write(at, now time.Time, text string) {
	l.written = now
	fmt.Fprintf(l.w, "[%7.1fs] %s\n", at.Sub(l.start).Seconds(), text)
}

func (l *log) clear() {}
