// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Wait is what an attempt waits for. Of several waits it names the one that
// tells most.
type Wait struct {
	Phase manifest.Phase `json:"phase"`
	Wave  int            `json:"wave"`
	// Group and Groups count from 1: "2 of 5".
	Group  int `json:"group"`
	Groups int `json:"groups"`
	// For says what of Object is waited for, More how many others besides.
	For    string       `json:"for"`
	Object manifest.Key `json:"object"`
	More   int          `json:"more,omitempty"`
	// Effect is the object that Object has to bring about, and Needer the one that
	// needs it or, without Effect, that needs Object itself.
	Effect *manifest.Key `json:"effect,omitempty"`
	Needer *manifest.Key `json:"needer,omitempty"`
	// Reason is in the object's own words.
	Reason string `json:"reason,omitempty"`
	// Since is when the wait on Object began.
	Since time.Time `json:"since"`
}

// Message is the wait in one line, with Argo CD's words in it. It does not
// change while nothing changes.
func (w Wait) Message() string {
	var b strings.Builder
	switch {
	case w.Group > 0:
		fmt.Fprintf(&b, "%s wave %d (%d/%d): ", w.Phase, w.Wave, w.Group, w.Groups)
	case w.Phase != "":
		fmt.Fprintf(&b, "%s: ", w.Phase)
	}
	b.WriteString(w.Subject())
	if w.Reason != "" {
		b.WriteString(": " + w.Reason)
	}
	return b.String()
}

// Subject is the wait without its place and its reason.
func (w Wait) Subject() string {
	if w.Needer != nil {
		needs := " needs"
		if w.More > 0 {
			needs = more(w.More, "resource") + " need"
		}
		if w.Effect == nil {
			return fmt.Sprintf("waiting for %s, which %s%s and others bring", place(w.Object), w.Needer.Short(), needs)
		}
		return fmt.Sprintf("waiting for %s of %s, which %s%s", w.Effect.Short(), title(w.Object), w.Needer.Short(), needs)
	}
	noun := "resource"
	if w.For == completion.String() {
		noun = "hook"
	}
	return fmt.Sprintf("waiting for %s %s%s", w.For, title(w.Object), more(w.More, noun))
}

func more(n int, noun string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return " and 1 more " + noun
	}
	return fmt.Sprintf(" and %d more %ss", n, noun)
}

// waitKind is what is waited for, the most telling first.
type waitKind int

const (
	fromOutside waitKind = iota
	forEffect
	completion
	confirmation
	healthy
	deletion
)

func (k waitKind) String() string {
	switch k {
	case fromOutside:
		return "existence and health of"
	case forEffect:
		return "effect of"
	case completion:
		return "completion of hook"
	case confirmation:
		return "pruning confirmation of"
	case healthy:
		return "healthy state of"
	default:
		return "deletion of"
	}
}

// waiting is one task's wait in a turn.
type waiting struct {
	task           *task
	kind           waitKind
	object, effect manifest.Key
	reason         string
	// alarming waits are shown before others of their kind.
	alarming bool
}

// await notes that the task waits for the object o.
func (t *turn) await(task *task, kind waitKind, object manifest.Key, o Observation) {
	begin(&task.gate.since, t.now)
	if !timeIsUp(o) {
		task.gate.blocked = o.Blocked
	}
	reason := o.reason()
	if kind == deletion {
		reason = o.keptBy()
	}
	t.waits = append(t.waits, waiting{
		task: task, kind: kind, object: object, reason: reason,
		alarming: o.Blocked != "" || o.Health.Status == health.Degraded,
	})
}

// settleWait turns the turn's waits into the record's one, and tells it when it
// is another than before.
func (t *turn) settleWait() {
	t.held = nil
	if len(t.out.Actions) > 0 || len(t.waits) == 0 || t.rec.Outcome != nil {
		t.rec.Wait = nil
		return
	}
	w := t.telling()
	for _, other := range t.waits {
		t.held = append(t.held, other.object)
	}
	if t.rec.Wait != nil && t.rec.Wait.Message() == w.Message() {
		return
	}
	t.rec.Wait = &w
	if m := w.Message(); m != t.told {
		t.told = m
		t.tell(t.waits[0].task.group, event.Event{
			Type: event.Waiting, Object: w.Object, Message: m, Since: w.Since,
		})
	}
}

// telling picks the wait that tells most; the others are counted.
func (t *turn) telling() Wait {
	slices.SortStableFunc(t.waits, func(a, b waiting) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(rank(a), rank(b)))
	})
	first := t.waits[0]
	g := first.task.group
	w := Wait{
		Phase: g.phase, Wave: g.wave, Group: g.number, Groups: len(t.groups),
		For: first.kind.String(), Object: first.object, Reason: oneLine(first.reason), Since: first.task.gate.since,
	}
	for _, other := range t.waits[1:] {
		if other.kind == first.kind {
			w.More++
		}
	}
	if first.kind == confirmation {
		w.Reason = t.risks()
	}
	switch first.kind {
	case forEffect:
		w.Effect, w.Needer = &first.effect, &first.task.key
	case fromOutside:
		w.Needer = &first.task.key
	}
	return w
}

// maxRisks bounds how many prunes a question names.
const maxRisks = 12

// risks names the prunes that somebody has to agree to, those with the same reason
// together, and what would be lost with them.
func (t *turn) risks() string {
	var reasons []string
	names := map[string][]string{}
	asked := 0
	for _, w := range t.waits {
		if w.kind != confirmation {
			continue
		}
		if asked++; asked > maxRisks {
			continue
		}
		if names[w.reason] == nil {
			reasons = append(reasons, w.reason)
		}
		names[w.reason] = append(names[w.reason], w.object.Short())
	}
	if asked == 1 {
		return reasons[0]
	}
	var texts []string
	for _, reason := range reasons {
		text := strings.Join(names[reason], ", ")
		if reason != "" {
			text += ": " + reason
		}
		texts = append(texts, text)
	}
	if over := asked - maxRisks; over > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", over))
	}
	return strings.Join(texts, "; ")
}

func rank(w waiting) int {
	switch {
	case w.alarming:
		return 0
	case w.reason != "":
		return 1
	}
	return 2
}

// oneLine folds the white space of a foreign message.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
