// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wavetrain/wavetrain/internal/event"
)

// State is how an Application stands, as the caller judges it.
type State struct {
	// Done means that there is nothing to wait for, Failed that waiting is in
	// vain, Running that events say more than Text.
	Done, Failed, Running bool
	// Text says so in words, or why it is neither.
	Text string
}

// Board holds what there is to show. It may be used from several goroutines;
// none of its methods blocks.
type Board struct {
	// namespace is left out of names.
	namespace string

	mu    sync.Mutex
	stage *stage
	apps  map[string]*entry
	said  []line
}

// stage is something that happens before there are Applications.
type stage struct {
	text  string
	since time.Time
}

// line is a sentence that stays.
type line struct {
	at   time.Time
	text string
}

// entry is what is known of one Application.
type entry struct {
	state State
	// stateSince is when the state began to say what it says.
	stateSince time.Time
	// running is true between the first and the last event of an operation.
	running     bool
	place, text string
	since       time.Time
	// started is when the last operation began, done when the Application was done
	// after that; zero when it is not.
	started, done time.Time
}

// NewBoard makes an empty board. Names of Applications in the namespace are shown
// without it.
func NewBoard(namespace string) *Board {
	return &Board{namespace: namespace, apps: map[string]*entry{}}
}

// Stage says what happens now, before there are Applications. An empty text ends
// it.
func (b *Board) Stage(text string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stage = nil
	if text != "" {
		b.stage = &stage{text: text, since: now}
	}
}

// Say adds a sentence that stays on the screen.
func (b *Board) Say(now time.Time, format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, line{at: now, text: fmt.Sprintf(format, args...)})
}

// Set notes how an Application, "namespace/name", stands.
func (b *Board) Set(app string, s State, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.entry(app)
	if s.Done && !a.state.Done && !a.started.IsZero() {
		a.done = now
	}
	if s.Done != a.state.Done || s.Failed != a.state.Failed || what(s.Text) != what(a.state.Text) {
		a.stateSince = now
	}
	a.state = s
}

// Remove forgets an Application that was deleted.
func (b *Board) Remove(app string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.apps, app)
}

// Note takes an event in. It is an event.Sink.
func (b *Board) Note(e event.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.entry(e.App)
	place := placeOf(e)
	switch e.Type {
	case event.OperationStarted:
		*a = entry{state: a.state, stateSince: a.stateSince, running: true, text: "starting", since: e.Time, started: e.Time}
	case event.GroupStarted:
		a.running, a.place, a.text, a.since = true, place, "applying", e.Time
	case event.Waiting:
		a.running, a.place, a.since = true, place, e.Since
		a.text = strings.TrimPrefix(e.Message, fmt.Sprintf("%s wave %d (%d/%d): ", e.Phase, e.Wave, e.Group, e.Groups))
	case event.StepFailed:
		a.place, a.text, a.since = place, e.Object.Short()+": "+e.Message, e.Time
	case event.OperationFinished:
		a.running, a.place, a.text, a.since = false, "", "", time.Time{}
	case event.StepApplied, event.StepPruned, event.StepSucceeded, event.GroupPassed:
	}
}

func (b *Board) entry(app string) *entry {
	a, ok := b.apps[app]
	if !ok {
		a = &entry{}
		b.apps[app] = a
	}
	return a
}

// placeOf says in which of how many groups an event happened: "2/5 Sync wave 0".
func placeOf(e event.Event) string {
	if e.Group == 0 {
		return string(e.Phase)
	}
	return fmt.Sprintf("%d/%d %s wave %d", e.Group, e.Groups, e.Phase, e.Wave)
}

// Row is one line about one Application.
type Row struct {
	Name, Place, Text string
	// Since is when the wait that Text speaks of began; zero when it is none.
	Since time.Time
	// Done and Failed Applications need no more attention, and all of it.
	Done, Failed bool
}

// rows returns a row per Application, sorted by name.
func (b *Board) rows() []Row {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stage != nil {
		return []Row{{Text: b.stage.text, Since: b.stage.since}}
	}
	list := make([]Row, 0, len(b.apps))
	for _, name := range slices.Sorted(maps.Keys(b.apps)) {
		a := b.apps[name]
		r := Row{Name: strings.TrimPrefix(name, b.namespace+"/")}
		switch {
		case a.state.Failed:
			r.Failed, r.Text = true, "failed: "+a.state.Text
		case a.running:
			r.Place, r.Text, r.Since = a.place, a.text, a.since
		case a.state.Running:
			// The operation has not begun, or its result is being written.
		default:
			r.Done, r.Text = a.state.Done, a.state.Text
			if !r.Done {
				r.Since = a.stateSince
			}
			if r.Done && !a.done.IsZero() {
				r.Text += ", took " + seconds(a.done.Sub(a.started))
			}
		}
		list = append(list, r)
	}
	return list
}

// take returns what was said since the last call.
func (b *Board) take() []line {
	b.mu.Lock()
	defer b.mu.Unlock()
	said := b.said
	b.said = nil
	return said
}

// seconds writes a duration with as many digits as are of use.
func seconds(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
