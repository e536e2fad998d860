// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package recap tells a run after its end: for each Application a timeline of
// its groups, and the proof that their order was kept. It takes what the
// timeline room recorded and writes text; it judges nothing anew.
package recap

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

// Recap is a run, sorted by Application and group.
type Recap struct {
	apps []app
	// start and end bound the run.
	start, end time.Time
}

// app is what happened to the objects of one Application.
type app struct {
	name   string
	groups []*group
	// gates are proofs about groups, secrets about single objects.
	gates, secrets []timeline.Proof
}

// group is what happened in one phase and wave.
type group struct {
	phase manifest.Phase
	wave  int
	// objects are those created; milestones those of them that tell the story.
	objects, milestones map[manifest.Key]bool
	// started and done are the time of the first creation and of the last object
	// to be done; done is zero when none was.
	started, done time.Time
	// created is the resourceVersion of the first milestone's creation, finished
	// that of the last milestone's end.
	created, finished uint64
}

func (g *group) String() string { return fmt.Sprintf("%s/%d", g.phase, g.wave) }

// Of sorts what was recorded. The run began at start.
func Of(moments []timeline.Moment, proofs []timeline.Proof, start time.Time) Recap {
	r := Recap{start: start, end: start}
	apps := map[string]*app{}
	for _, m := range moments {
		if m.App == "" || (m.What != timeline.Created && m.What != timeline.Done) {
			continue
		}
		a, ok := apps[m.App]
		if !ok {
			a = &app{name: m.App}
			apps[m.App] = a
		}
		a.add(m)
		if m.Time.After(r.end) {
			r.end = m.Time
		}
	}
	for _, p := range proofs {
		a, ok := apps[p.App]
		switch {
		case !ok:
		case p.Before.App == "" && p.Before.Key.Kind == "Secret":
			a.secrets = append(a.secrets, p)
		default:
			a.gates = append(a.gates, p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(apps)) {
		a := apps[name]
		slices.SortFunc(a.groups, func(x, y *group) int {
			return cmp.Or(cmp.Compare(x.phase.Rank(), y.phase.Rank()), cmp.Compare(x.wave, y.wave))
		})
		// Groups of which nothing was created were there before the run.
		a.groups = slices.DeleteFunc(a.groups, func(g *group) bool { return len(g.objects) == 0 })
		if len(a.groups) > 0 {
			r.apps = append(r.apps, *a)
		}
	}
	return r
}

func (a *app) add(m timeline.Moment) {
	g := a.group(m.Phase, m.Wave)
	telling := slices.Contains(milestones(), m.Key.Kind)
	switch m.What {
	case timeline.Created:
		g.objects[m.Key] = true
		if g.started.IsZero() || m.Time.Before(g.started) {
			g.started = m.Time
		}
		if telling {
			g.milestones[m.Key] = true
			if g.created == 0 || m.ResourceVersion < g.created {
				g.created = m.ResourceVersion
			}
		}
	case timeline.Done:
		if m.Time.After(g.done) {
			g.done = m.Time
		}
		if telling {
			g.finished = max(g.finished, m.ResourceVersion)
		}
	case timeline.Failed, timeline.Deleted:
	}
}

func (a *app) group(phase manifest.Phase, wave int) *group {
	for _, g := range a.groups {
		if g.phase == phase && g.wave == wave {
			return g
		}
	}
	g := &group{phase: phase, wave: wave, objects: map[manifest.Key]bool{}, milestones: map[manifest.Key]bool{}}
	a.groups = append(a.groups, g)
	return g
}

// milestones are the kinds that do something, and therefore take time: their
// order is the story of a rollout.
func milestones() []string {
	return []string{"Job", "Deployment", "StatefulSet", "DaemonSet", "Application"}
}

// names lists objects, the most telling first, as many by name as fit into a
// column.
func names(objects map[manifest.Key]bool) string {
	const width = 96
	keys := slices.SortedFunc(maps.Keys(objects), func(a, b manifest.Key) int {
		return cmp.Or(cmp.Compare(slices.Index(milestones(), a.Kind), slices.Index(milestones(), b.Kind)), a.Compare(b))
	})
	text := keys[0].Short()
	for i, k := range keys[1:] {
		longer := text + ", " + k.Short()
		if len(longer) > width {
			return fmt.Sprintf("%s and %d more", text, len(keys)-1-i)
		}
		text = longer
	}
	return text
}

// Empty is true when nothing was created during the run.
func (r Recap) Empty() bool { return len(r.apps) == 0 }

// Broken returns the statements that do not hold.
func Broken(proofs []timeline.Proof) []timeline.Proof {
	var broken []timeline.Proof
	for _, p := range proofs {
		if !p.Holds {
			broken = append(broken, p)
		}
	}
	return broken
}
