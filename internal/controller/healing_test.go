// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"testing"
	"time"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

var healStart = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func field(name, path string) driftedField {
	return driftedField{manifest.Key{Kind: "ConfigMap", Namespace: "ns", Name: name}, path}
}

// A field that drifts again the moment it was healed.
func TestHealsOfAFieldGrowRare(t *testing.T) {
	// The third heal within two minutes is a fight: from then on ten times as rare.
	want := []time.Duration{0, 2 * time.Second, 6 * time.Second, 180 * time.Second, 300 * time.Second, 300 * time.Second}
	var h healing
	b, now := HealBackoff{}.withDefaults(), healStart
	for i, w := range want {
		fields := drift{field("a", "data.v"): "other"}
		due := h.due(fields, b, now)
		got := time.Duration(0)
		if !due.IsZero() {
			got = due.Sub(now)
		}
		if got != w {
			t.Errorf("heal %d comes after %s, want %s", i+1, got, w)
		}
		now = now.Add(got)
		h.note(fields, now)
		h.forget(b, now, false)
	}
	texts, until := h.fights(b)
	if !slices.Equal(texts, []string{"data.v of ConfigMap/a by other"}) || until != now.Add(b.Quiet) {
		t.Errorf("fights %q until %s", texts, until)
	}
}

func TestHealsWithoutAFightGrowSlowly(t *testing.T) {
	want := []time.Duration{2 * time.Second, 6 * time.Second, 18 * time.Second, 54 * time.Second, 162 * time.Second, 300 * time.Second, 300 * time.Second}
	for i, w := range want {
		if got := (HealBackoff{}).withDefaults().delay(i + 1); got != w {
			t.Errorf("delay after heal %d = %s, want %s", i+1, got, w)
		}
	}
}

func TestHealsCountPerField(t *testing.T) {
	b, now := HealBackoff{}.withDefaults(), healStart
	var h healing
	h.note(drift{field("a", "data.v"): "other"}, now)
	for name, c := range map[string]struct {
		fields drift
		want   time.Time
	}{
		"the same field waits":                  {drift{field("a", "data.v"): ""}, now.Add(2 * time.Second)},
		"another field does not":                {drift{field("a", "data.w"): ""}, time.Time{}},
		"nor another object":                    {drift{field("b", "data.v"): ""}, time.Time{}},
		"nor an object with another one beside": {drift{field("a", "data.v"): "", field("a", "data.w"): ""}, time.Time{}},
		"the application has a count, too":      {drift{{}: ""}, now.Add(2 * time.Second)},
	} {
		if got := h.due(c.fields, b, now); got != c.want {
			t.Errorf("%s: due %s, want %s", name, got, c.want)
		}
	}
}

func TestHealsAreForgotten(t *testing.T) {
	b := HealBackoff{}.withDefaults()
	for name, c := range map[string]struct {
		after time.Duration
		keep  bool
		left  int
	}{
		"not before the quiet time":           {after: b.Quiet, left: 2},
		"after it":                            {after: b.Quiet + 1},
		"but not the count of an application": {after: b.Quiet + 1, keep: true, left: 1},
	} {
		var h healing
		h.note(drift{field("a", "data.v"): ""}, healStart)
		h.forget(b, healStart.Add(c.after), c.keep)
		if len(h.fields) != c.left {
			t.Errorf("%s: %d remembered, want %d", name, len(h.fields), c.left)
		}
	}
}
