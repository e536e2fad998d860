// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package path finds what the time of a rollout went to, or will go to: the time of
// each wave, and the chain of objects of which each was waited for before the next
// could begin. It serves plans, whose times are expected, and rehearsals, whose
// times were measured.
package path

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Step is the share that an object has in a rollout.
type Step struct {
	Object string
	// Start is when it was begun, Ready when nothing had to wait for it any more,
	// both counted from the beginning of the rollout.
	Start, Ready time.Duration
	// Open is true for one that was not ready when Ready was taken.
	Open bool
	// After are objects of the same group that had to be ready before.
	After []string
}

// Group is the steps of a phase and wave. The next group begins when all of them
// are ready.
type Group struct {
	Phase string
	Wave  int
	Steps []Step
}

// Wave is the time of a group.
type Wave struct {
	Phase string          `json:"phase"`
	Wave  int             `json:"wave"`
	Start metav1.Duration `json:"start"`
	// Took is the time from the beginning of its first step until all were ready.
	Took metav1.Duration `json:"took"`
	// Slowest was ready last.
	Slowest string `json:"slowest,omitempty"`
	// Open is true when something in it did not get ready.
	Open bool `json:"open,omitempty"`
}

// Link is an object that the whole rollout waited for.
type Link struct {
	Phase  string `json:"phase"`
	Wave   int    `json:"wave"`
	Object string `json:"object"`
	// Took is the time that it adds: from when the link before was ready until it
	// was. All of them together are the time of the rollout.
	Took metav1.Duration `json:"took"`
	Open bool            `json:"open,omitempty"`
}

// Timeline is the time of a rollout.
type Timeline struct {
	Waves []Wave `json:"waves"`
	// Critical is the critical path: a rollout is faster only if one of these is.
	Critical []Link          `json:"critical"`
	Took     metav1.Duration `json:"took"`
	// Open is true when something did not get ready.
	Open bool `json:"open,omitempty"`
}

// Of works out the timeline of groups, given in the order in which they ran. The
// order of the steps of a group does not matter.
func Of(groups []Group) Timeline {
	t := Timeline{Waves: []Wave{}, Critical: []Link{}}
	var end time.Duration
	for _, g := range groups {
		if len(g.Steps) == 0 {
			continue
		}
		chain := g.chain()
		last := chain[len(chain)-1]
		open := slices.ContainsFunc(g.Steps, func(s Step) bool { return s.Open })
		start := slices.MinFunc(g.Steps, func(a, b Step) int { return cmp.Compare(a.Start, b.Start) }).Start
		t.Waves = append(t.Waves, Wave{
			Phase: g.Phase, Wave: g.Wave, Start: metav1.Duration{Duration: start}, Took: metav1.Duration{Duration: max(0, last.Ready-start)},
			Slowest: last.Object, Open: open,
		})
		t.Open = t.Open || open
		for _, s := range chain {
			if s.Ready <= end && !s.Open {
				continue
			}
			took := max(0, s.Ready-end)
			t.Critical = append(t.Critical, Link{Phase: g.Phase, Wave: g.Wave, Object: s.Object, Took: metav1.Duration{Duration: took}, Open: s.Open})
			end += took
		}
	}
	t.Took = metav1.Duration{Duration: end}
	return t
}

// chain is the step of a group that was ready last, behind those that it had to
// wait for.
func (g Group) chain() []Step {
	byObject := map[string]Step{}
	for _, s := range g.Steps {
		byObject[s.Object] = s
	}
	at := slices.MaxFunc(g.Steps, later)
	chain, seen := []Step{at}, map[string]bool{at.Object: true}
	for {
		var before []Step
		for _, name := range at.After {
			if s, ok := byObject[name]; ok && !seen[name] {
				before = append(before, s)
			}
		}
		if len(before) == 0 {
			slices.Reverse(chain)
			return chain
		}
		at = slices.MaxFunc(before, later)
		seen[at.Object] = true
		chain = append(chain, at)
	}
}

// later orders steps by how long they are waited for: what is not ready for ever,
// then by the time, then by name so that the order is total.
func later(a, b Step) int {
	switch {
	case a.Open != b.Open && a.Open:
		return 1
	case a.Open != b.Open:
		return -1
	case a.Ready != b.Ready:
		return cmp.Compare(a.Ready, b.Ready)
	case a.Object < b.Object:
		return 1
	default:
		return -1
	}
}
