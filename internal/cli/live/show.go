// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"io"
	"sync"
	"time"
)

const (
	// interval between drawings: ten a second are smooth, more are a waste.
	interval = 100 * time.Millisecond
	// heartbeat is how often an unchanged state is repeated where lines are only
	// appended; a silent job is taken for a dead one.
	heartbeat = 30 * time.Second
)

// view is one way to show a board.
type view interface {
	// draw shows lines that stay and the present rows.
	draw(now time.Time, said []line, rows []Row)
	// clear takes away what does not stay.
	clear()
}

// Show draws a board while it runs.
type Show struct {
	board *Board
	now   func() time.Time

	mu   sync.Mutex
	view view
}

// OnTerminal shows the board on a terminal, of which size tells columns and
// lines.
func OnTerminal(b *Board, w io.Writer, size func() (columns, lines int)) *Show {
	return &Show{board: b, now: time.Now, view: &screen{w: w, size: size}}
}

// AsLines shows the board as lines with the time since start.
func AsLines(b *Board, w io.Writer, start time.Time) *Show {
	return &Show{board: b, now: time.Now, view: &log{w: w, start: start, last: map[string]logged{}}}
}

// Run draws until ctx ends, at the end a last time.
func (s *Show) Run(ctx context.Context) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		s.draw()
		select {
		case <-ctx.Done():
			s.Print(func() {})
			return
		case <-ticker.C:
		}
	}
}

func (s *Show) draw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view.draw(s.now(), s.board.take(), s.board.rows())
}

// Print brings the lines up to date, takes the rows away and calls fn, which
// has the screen for itself meanwhile.
func (s *Show) Print(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view.draw(s.now(), s.board.take(), s.board.rows())
	s.view.clear()
	fn()
}
