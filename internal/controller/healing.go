// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/pipeline"
)

// HealBackoff says when a field that drifts again and again is healed again. The
// first time it is healed at once, then after Base, three times Base, nine times
// Base and so on up to Limit. After Quiet without a heal of it, all is forgotten.
type HealBackoff struct {
	// Base defaults to two seconds, Limit to five minutes, Quiet to ten.
	Base, Limit, Quiet time.Duration
}

// Healing one field so often within so short a time is a fight with whoever changes
// it. Then a heal comes so many times later than it would.
const (
	healFactor  = 3
	fightHeals  = 3
	fightWithin = 2 * time.Minute
	fightFactor = 10
)

func (b HealBackoff) withDefaults() HealBackoff {
	return HealBackoff{Base: cmp.Or(b.Base, 2*time.Second), Limit: cmp.Or(b.Limit, 5*time.Minute), Quiet: cmp.Or(b.Quiet, 10*time.Minute)}
}

// delay is the pause after n heals.
func (b HealBackoff) delay(n int) time.Duration {
	delay := b.Base
	for range n - 1 {
		if delay *= healFactor; delay >= b.Limit {
			break
		}
	}
	return min(delay, b.Limit)
}

// healing remembers the heals of one Application. It is lost with the process, which
// costs an early heal.
type healing struct {
	fields map[driftedField]heals
}

// driftedField is a field of an object; without a path it is the whole object, which
// is missing, superfluous or refused. The zero value is the whole application.
type driftedField struct {
	key  manifest.Key
	path string
}

// heals are the heals of one field.
type heals struct {
	n int
	// recent are the last of them, the newest at the end.
	recent []time.Time
	// fight is true once there were too many in too short a time; rival is who wrote
	// the field last, if anybody owned it.
	fight bool
	rival string
}

// drift are the fields that differ, with their present owners.
type drift map[driftedField]string

// driftOf reads the fields of an object that differ.
func driftOf(key manifest.Key, c *pipeline.Comparison) drift {
	fields := drift{}
	for _, change := range c.Verdicts[key].Changes {
		fields[driftedField{key, change.Path}] = change.Manager
	}
	if len(fields) == 0 {
		fields[driftedField{key: key}] = ""
	}
	return fields
}

// due returns when an object may be healed: as soon as one of its fields may. What is
// due at once has the zero time.
func (h *healing) due(fields drift, b HealBackoff, now time.Time) time.Time {
	var due time.Time
	for _, field := range slices.SortedFunc(maps.Keys(fields), compareFields) {
		at := h.fieldDue(field, b)
		if !at.After(now) {
			return time.Time{}
		}
		if due.IsZero() || at.Before(due) {
			due = at
		}
	}
	return due
}

func (h *healing) fieldDue(field driftedField, b HealBackoff) time.Time {
	past, known := h.fields[field]
	if !known {
		return time.Time{}
	}
	last := past.recent[len(past.recent)-1]
	delay := b.delay(past.n)
	if past.fight {
		delay = min(fightFactor*delay, b.Limit)
	}
	return last.Add(delay)
}

// note notes that fields were healed, and that the application was.
func (h *healing) note(fields drift, now time.Time) {
	if h.fields == nil {
		h.fields = map[driftedField]heals{}
	}
	noted := maps.Clone(fields)
	noted[driftedField{}] = ""
	for field, manager := range noted {
		past := h.fields[field]
		past.n++
		past.recent = append(past.recent, now)
		past.recent = past.recent[max(0, len(past.recent)-fightHeals):]
		past.fight = past.fight || field != (driftedField{}) && len(past.recent) == fightHeals && now.Sub(past.recent[0]) <= fightWithin
		if manager != "" && manager != manifest.FieldManager {
			past.rival = manager
		}
		h.fields[field] = past
	}
}

// most is how often the field that was healed most often was healed.
func (h *healing) most() (n int) {
	for _, past := range h.fields {
		n = max(n, past.n)
	}
	return n
}

// forget drops what is older than the quiet time, except how often the application
// was healed if that is to be kept.
func (h *healing) forget(b HealBackoff, now time.Time, keep bool) {
	maps.DeleteFunc(h.fields, func(field driftedField, past heals) bool {
		return now.Sub(past.recent[len(past.recent)-1]) > b.Quiet && !(keep && field == driftedField{})
	})
}

// fights describes the fights that go on, and says when that will be out of date.
func (h *healing) fights(b HealBackoff) (texts []string, until time.Time) {
	for _, field := range slices.SortedFunc(maps.Keys(h.fields), compareFields) {
		past := h.fields[field]
		if !past.fight {
			continue
		}
		what, rival := field.key.Short(), past.rival
		if field.path != "" {
			what = field.path + " of " + what
		}
		if rival == "" {
			rival = "somebody that owns no fields"
		}
		texts = append(texts, fmt.Sprintf("%s by %s", what, rival))
		if end := past.recent[len(past.recent)-1].Add(b.Quiet); end.After(until) {
			until = end
		}
	}
	return texts, until
}

func compareFields(a, b driftedField) int {
	return cmp.Or(a.key.Compare(b.key), cmp.Compare(a.path, b.path))
}

// healOnApplication is the option by which heals are spaced per application and
// never forgotten.
const healOnApplication = "HealBackoff=application"

// healDue returns when an object that is out of sync may be healed, the zero time for
// at once.
func (s *session) healDue(key manifest.Key) time.Time {
	if s.ownOptions().Has(healOnApplication) {
		return s.st.healing.due(drift{{}: ""}, s.opts.Heal, s.now)
	}
	return s.st.healing.due(driftOf(key, s.comparison), s.opts.Heal, s.now)
}

// driftOn returns all fields of objects that are about to be healed.
func (s *session) driftOn(keys []manifest.Key) drift {
	fields := drift{}
	for _, key := range keys {
		maps.Copy(fields, driftOf(key, s.comparison))
	}
	return fields
}

// healMeanwhile heals what a running operation has applied while it waits for
// somebody to agree to prunes, which may take long.
func (s *session) healMeanwhile(ctx context.Context, run *operationRun) {
	if !s.app.Spec.AutomatedSelfHeal() || !run.Asks() || s.lookAt(ctx, run.desired) != nil {
		return
	}
	var drifted []manifest.Key
	for key, verdict := range s.comparison.Verdicts {
		if verdict.InSync() || slices.Contains(s.foreign(), key) {
			continue
		}
		if due := s.healDue(key); due.After(s.now) {
			s.by(due)
			continue
		}
		drifted = append(drifted, key)
	}
	if len(drifted) == 0 {
		return
	}
	if healed := run.Restore(drifted); len(healed) > 0 {
		s.st.healing.note(s.driftOn(healed), s.now)
	}
}

// tellFights has the status say who changes again and again what is healed.
func (s *session) tellFights() {
	s.st.healing.forget(s.opts.Heal, s.now, s.ownOptions().Has(healOnApplication))
	texts, until := s.st.healing.fights(s.opts.Heal)
	if len(texts) == 0 {
		return
	}
	s.by(until)
	s.problems = append(s.problems, v1alpha1.ApplicationCondition{
		Type: v1alpha1.ConditionFightWarning,
		Message: "fight: healed and changed again and again: " + bounded(texts) +
			"; it is healed less and less often. Leave it to one of the two: take it out of Git, ignore it with ignoreDifferences, or stop the other",
	})
}
