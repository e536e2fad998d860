// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"io"
	"time"
)

// detailEvery is how often a line is repeated because only its details changed: of
// a wait it matters what for, less how far that has come.
const detailEvery = 5 * time.Second

// log appends a line for everything that changes.
type log struct {
	w     io.Writer
	start time.Time
	// last is what was written of each Application, written when anything was.
	last    map[string]logged
	written time.Time
}

// logged is a row as it was written, and when.
type logged struct {
	place, text string
	at          time.Time
}

// worth tells whether r says enough that is new to be written at now.
func (l logged) worth(r Row, now time.Time) bool {
	switch {
	case r.Text == "" || r.Place == l.place && r.Text == l.text:
		return false
	case r.Place != l.place || r.Done || r.Failed:
		return true
	}
	return what(r.Text) != what(l.text) || now.Sub(l.at) >= detailEvery
}

func (l *log) draw(now time.Time, said []line, rows []Row) {
	for _, s := range said {
		l.write(s.at, now, s.text)
	}
	nameWidth, _ := widths(rows)
	for _, r := range rows {
		if l.last[r.Name].worth(r, now) {
			l.last[r.Name] = logged{r.Place, r.Text, now}
			bare := r
			bare.Since = time.Time{}
			l.write(now, now, format(bare, nameWidth, len(r.Place), 0, now))
		}
	}
	if l.written.IsZero() || now.Sub(l.written) < heartbeat {
		return
	}
	for _, r := range rows {
		if !r.Done {
			l.write(now, now, "still "+format(r, nameWidth, len(r.Place), 0, now))
		}
	}
}

func (l *log) write(at, now time.Time, text string) {
	l.written = now
	fmt.Fprintf(l.w, "[%7.1fs] %s\n", at.Sub(l.start).Seconds(), text)
}

func (l *log) clear() {}
