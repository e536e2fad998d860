// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

func start() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC) }

func at(seconds float64) time.Time {
	return start().Add(time.Duration(seconds * float64(time.Second)))
}

func happened(seconds float64, kind event.Type, group, wave int, message string) event.Event {
	return event.Event{
		Type: kind, Time: at(seconds), App: "argocd/shop", Phase: manifest.Sync, Wave: wave, Group: group, Groups: 3,
		Object: manifest.Key{Kind: "Job", Name: "migrate"}, Message: message, Since: at(seconds),
	}
}

func TestRowOfAnApplication(t *testing.T) {
	const waiting = "waiting for completion of hook batch/Job/migrate"
	begun := happened(1, event.OperationStarted, 0, 0, "")
	for name, c := range map[string]struct {
		reason string
		events []event.Event
		state  State
		want   Row
	}{
		"nothing yet": {
			"before an operation the judgement of the caller is all there is",
			nil,
			State{Text: "OutOfSync"},
			Row{Name: "shop", Text: "OutOfSync", Since: at(5)},
		},
		"applying": {
			"a group that began is where the application is",
			[]event.Event{begun, happened(2, event.GroupStarted, 2, 5, "")},
			State{Text: "OutOfSync"},
			Row{Name: "shop", Place: "2/3 Sync wave 5", Text: "applying", Since: at(2)},
		},
		"waiting": {
			"the place is not said twice",
			[]event.Event{begun, happened(2, event.Waiting, 2, 5, "Sync wave 5 (2/3): "+waiting)},
			State{},
			Row{Name: "shop", Place: "2/3 Sync wave 5", Text: waiting, Since: at(2)},
		},
		"step failed": {
			"an object that failed is named",
			[]event.Event{begun, happened(2, event.StepFailed, 2, 5, "exit code 3")},
			State{},
			Row{Name: "shop", Place: "2/3 Sync wave 5", Text: "Job/migrate: exit code 3", Since: at(2)},
		},
		"failed": {
			"a failure outweighs what an operation may still be doing",
			[]event.Event{begun, happened(2, event.GroupStarted, 2, 5, "")},
			State{Failed: true, Text: "boom"},
			Row{Name: "shop", Text: "failed: boom", Failed: true},
		},
		"done": {
			"the time from the operation's begin to the end of all waiting is said",
			[]event.Event{begun, happened(3.5, event.OperationFinished, 0, 0, "")},
			State{Done: true, Text: "Synced, Healthy"},
			Row{Name: "shop", Text: "Synced, Healthy, took 4.0 s", Done: true},
		},
		"result on its way": {
			"between the last event and the status that shows the result there is nothing to say",
			[]event.Event{begun, happened(3.5, event.OperationFinished, 0, 0, "")},
			State{Running: true, Text: "Sync wave 0 (1/3): outdated"},
			Row{Name: "shop"},
		},
		"done before": {
			"an application that was in order without an operation took no time",
			nil,
			State{Done: true, Text: "Synced, Healthy"},
			Row{Name: "shop", Text: "Synced, Healthy", Done: true},
		},
		"again": {
			"a second operation starts from nothing",
			[]event.Event{begun, happened(2, event.GroupStarted, 2, 5, ""), happened(4, event.OperationStarted, 0, 0, "")},
			State{},
			Row{Name: "shop", Text: "starting", Since: at(4)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBoard("argocd")
			for _, e := range c.events {
				b.Note(e)
			}
			b.Set("argocd/shop", c.state, at(5))
			if diff := cmp.Diff([]Row{c.want}, b.rows()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestBoardShowsOtherNamespacesAndForgets(t *testing.T) {
	b := NewBoard("argocd")
	b.Set("team/api", State{Text: "x"}, at(0))
	b.Set("argocd/shop", State{Text: "y"}, at(0))
	b.Remove("argocd/shop")
	want := []Row{{Name: "team/api", Text: "x", Since: at(0)}}
	if diff := cmp.Diff(want, b.rows()); diff != "" {
		t.Error(diff)
	}
}

// terminal keeps what a terminal would show: it obeys the few escapes that are
// written to it and refuses others.
type terminal struct {
	t     *testing.T
	lines []string
	row   int
}

func (s *terminal) Write(p []byte) (int, error) {
	rest := string(p)
	for rest != "" {
		var n int
		switch {
		case strings.HasPrefix(rest, clearBelow):
			s.lines, rest = s.lines[:s.row], rest[len(clearBelow):]
		case strings.HasPrefix(rest, clearRest):
			rest = rest[len(clearRest):]
		case strings.HasPrefix(rest, "\x1b["):
			if _, err := fmt.Sscanf(rest, "\x1b[%dA\r", &n); err != nil {
				s.t.Fatalf("unknown escape in %q", rest)
			}
			s.row -= n
			rest = rest[strings.Index(rest, "\r")+1:]
		default:
			end := strings.Index(rest, "\n")
			if end < 0 {
				s.t.Fatalf("line without end: %q", rest)
			}
			text := strings.TrimSuffix(rest[:end], clearRest)
			if s.row < len(s.lines) {
				s.lines[s.row] = text
			} else {
				s.lines = append(s.lines, text)
			}
			s.row++
			rest = rest[end+1:]
		}
	}
	return len(p), nil
}

func TestScreenRedrawsInPlace(t *testing.T) {
	term := &terminal{t: t}
	s := &screen{w: term, size: func() (int, int) { return 60, 24 }}
	shop := Row{Name: "shop", Place: "1/3 Sync wave 0", Text: "waiting for Job/migrate", Since: at(0)}
	api := Row{Name: "api-gateway", Text: "Synced, Healthy", Done: true}
	expect := func(step string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, term.lines); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
	}

	s.draw(at(1), []line{{text: "control plane ready"}}, nil)
	expect("a sentence", "control plane ready")
	s.draw(at(2), nil, []Row{shop, api})
	expect("rows", "control plane ready",
		"shop         1/3 Sync wave 0  waiting for Job/migrate (2s)",
		"api-gateway                   Synced, Healthy")
	s.draw(at(3), []line{{text: "commit 1234567"}}, []Row{shop, api})
	expect("a sentence goes above the rows", "control plane ready", "commit 1234567",
		"shop         1/3 Sync wave 0  waiting for Job/migrate (3s)",
		"api-gateway                   Synced, Healthy")
	shop.Text = "waiting for the health of apps/Deployment/a-very-long-name"
	s.draw(at(90), nil, []Row{shop})
	expect("long rows are cut, superfluous ones go", "control plane ready", "commit 1234567",
		"shop  1/3 Sync wave 0  waiting for the health of... (1m30s)")
	shop.Done = true
	s.draw(at(91), nil, []Row{shop})
	expect("nothing is left when all is done", "control plane ready", "commit 1234567")
}

func TestScreenIsSmall(t *testing.T) {
	term := &terminal{t: t}
	s := &screen{w: term, size: func() (int, int) { return 80, 7 }}
	var rows []Row
	for i := range 12 {
		rows = append(rows, Row{Name: fmt.Sprintf("app-%02d", i), Text: "x", Done: i < 4})
	}
	s.draw(at(0), nil, rows)
	want := []string{"app-04  x", "app-05  x", "app-06  x", "app-07  x", "app-08  x", "and 3 more, 4 done"}
	if diff := cmp.Diff(want, term.lines); diff != "" {
		t.Errorf("rows that do not fit are counted, done ones first (-want +got):\n%s", diff)
	}
}

func TestScreenWritesNothingWhenNothingChanged(t *testing.T) {
	var out strings.Builder
	s := &screen{w: &out, size: func() (int, int) { return 80, 24 }}
	rows := []Row{{Name: "shop", Text: "waiting", Since: at(0)}}
	s.draw(at(1), nil, rows)
	before := out.Len()
	s.draw(at(1.2), nil, rows)
	if out.Len() != before {
		t.Errorf("wrote %q again", out.String()[before:])
	}
}

func TestLinesAreOnlyAppended(t *testing.T) {
	var out strings.Builder
	l := &log{w: &out, start: start(), last: map[string]logged{}}
	shop := Row{Name: "shop", Place: "1/3 Sync wave 0", Text: "waiting for Job/migrate", Since: at(1)}
	l.draw(at(0), nil, []Row{{Text: "starting the control plane", Since: at(0)}})
	l.draw(at(4.2), []line{{at: at(4.1), text: "control plane ready"}}, nil)
	l.draw(at(5), nil, []Row{shop})
	l.draw(at(6), nil, []Row{shop})
	l.draw(at(35.5), nil, []Row{shop})
	shop.Text = "waiting for Job/migrate: 1 active"
	l.draw(at(36), nil, []Row{shop})
	shop.Text = "waiting for Job/migrate: 1 failed"
	l.draw(at(37), nil, []Row{shop})
	shop.Done, shop.Place, shop.Text = true, "", "Synced, Healthy"
	l.draw(at(40), nil, []Row{shop})
	l.draw(at(100), nil, []Row{shop})
	want := `[    0.0s] starting the control plane
[    4.1s] control plane ready
[    5.0s] shop  1/3 Sync wave 0  waiting for Job/migrate
[   35.5s] still shop  1/3 Sync wave 0  waiting for Job/migrate (35s)
[   36.0s] shop  1/3 Sync wave 0  waiting for Job/migrate: 1 active
[   40.0s] shop  Synced, Healthy
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("escape codes where lines are only appended")
	}
}

func TestShowDrawsWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		b := NewBoard("argocd")
		s := AsLines(b, &out, time.Now())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx) }()
		time.Sleep(950 * time.Millisecond)
		b.Set("argocd/shop", State{Text: "OutOfSync"}, time.Now())
		time.Sleep(1050 * time.Millisecond)
		b.Say(time.Now(), "last words")
		cancel()
		<-done
		want := "[    1.0s] shop  OutOfSync\n[    2.0s] last words\n"
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
