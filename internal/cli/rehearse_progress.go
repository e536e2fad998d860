// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/rehearse"
	"github.com/wavetrain/wavetrain/internal/rehearse/gantt"
)

// rehearsalProgress shows what happens during a rehearsal: its steps and the waves of
// operations, or everything.
type rehearsalProgress struct {
	w      io.Writer
	began  time.Time
	events bool

	mu   sync.Mutex
	last string
	told time.Time
	done chan struct{}
}

func newRehearsalProgress(w io.Writer, events bool) *rehearsalProgress {
	p := &rehearsalProgress{w: w, began: time.Now(), events: events, told: time.Now(), done: make(chan struct{})}
	go p.beat()
	return p
}

func (p *rehearsalProgress) stop() { close(p.done) }

func (p *rehearsalProgress) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if line == "" {
		return
	}
	p.last, p.told = line, time.Now()
	fmt.Fprintln(p.w, line)
}

// beat repeats the last line when nothing was told for a while.
func (p *rehearsalProgress) beat() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-ticker.C:
			p.mu.Lock()
			if p.last != "" && time.Since(p.told) >= heartbeat {
				p.told = time.Now()
				fmt.Fprintf(p.w, "%6.1fs  still: %s\n", time.Since(p.began).Seconds(), p.last)
			}
			p.mu.Unlock()
		}
	}
}

func (p *rehearsalProgress) stage(text string) {
	if text != "" {
		p.say(fmt.Sprintf("%6.1fs  %s", time.Since(p.began).Seconds(), text))
	}
}

func (p *rehearsalProgress) event(e rehearse.Event) {
	if p.events || e.What == "step" {
		p.say(gantt.Line(e, p.began))
	}
}

func (p *rehearsalProgress) operation(e event.Event) { p.say(gantt.Progress(e, p.began)) }
