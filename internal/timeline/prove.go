// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Proof is one statement about order: what is named in Before happened before
// what is named in After.
type Proof struct {
	App string `json:"app"`
	// Gate says which order this is about, for example "PreSync/-1 → Sync/0".
	Gate   string `json:"gate"`
	Before Moment `json:"before"`
	After  Moment `json:"after"`
	Holds  bool   `json:"holds"`
}

// String returns the statement in one line.
func (p Proof) String() string {
	sign := "<"
	if !p.Holds {
		sign = "IS NOT <"
	}
	return fmt.Sprintf("%s %s (%d) %s %s %s (%d)", p.Before.Key.Short(), p.Before.What, p.Before.ResourceVersion, sign, p.After.Key.Short(), p.After.What, p.After.ResourceVersion)
}

// group is a phase and a wave.
type group struct {
	phase manifest.Phase
	wave  int
}

func (g group) String() string { return fmt.Sprintf("%s/%d", g.phase, g.wave) }

func compareGroups(a, b group) int {
	return cmp.Or(cmp.Compare(a.phase.Rank(), b.phase.Rank()), cmp.Compare(a.wave, b.wave))
}

// Prove checks the order of everything that was created during the recording:
// per application, the last object of a group to be done precedes the first
// object of the next group to be created; and a Secret that a controller makes
// for a workload precedes that workload. The proofs are sorted by application
// and gate.
func Prove(moments []Moment) []Proof {
	byApp := map[string][]Moment{}
	for _, m := range moments {
		if m.App != "" {
			byApp[m.App] = append(byApp[m.App], m)
		}
	}
	made := madeByControllers(moments)
	var proofs []Proof
	for _, app := range slices.Sorted(maps.Keys(byApp)) {
		proofs = append(proofs, proveGroups(app, byApp[app])...)
		proofs = append(proofs, proveNeeds(app, byApp[app], made)...)
	}
	return proofs
}

func proveGroups(app string, moments []Moment) []Proof {
	lastDone, firstCreated := map[group]Moment{}, map[group]Moment{}
	for _, m := range moments {
		g := group{m.Phase, m.Wave}
		switch m.What {
		case Created:
			// When exactly an inferred creation happened is not known; it proves
			// nothing about being late enough.
			if m.Inferred {
				continue
			}
			if first, ok := firstCreated[g]; !ok || m.ResourceVersion < first.ResourceVersion {
				firstCreated[g] = m
			}
		case Done:
			if last, ok := lastDone[g]; !ok || m.ResourceVersion > last.ResourceVersion {
				lastDone[g] = m
			}
		case Failed, Deleted:
		}
	}
	groups := slices.SortedFunc(maps.Keys(firstCreated), compareGroups)
	var proofs []Proof
	for i := 1; i < len(groups); i++ {
		before, after := groups[i-1], groups[i]
		done, ok := lastDone[before]
		proofs = append(proofs, Proof{
			App: app, Gate: fmt.Sprintf("%s → %s", before, after),
			Before: done, After: firstCreated[after],
			Holds: ok && allDone(moments, before, firstCreated[after].ResourceVersion) && done.ResourceVersion < firstCreated[after].ResourceVersion,
		})
	}
	return proofs
}

// allDone tells whether every object of the group that was created was done
// before the given resourceVersion: an object that never was must not go
// unnoticed.
func allDone(moments []Moment, g group, before uint64) bool {
	done := map[manifest.Key]bool{}
	for _, m := range moments {
		if m.What == Done && (group{m.Phase, m.Wave}) == g && m.ResourceVersion < before {
			done[m.Key] = true
		}
	}
	for _, m := range moments {
		if m.What == Created && (group{m.Phase, m.Wave}) == g && !done[m.Key] {
			return false
		}
	}
	return true
}

// madeByControllers returns when Secrets that nobody applied came to be.
func madeByControllers(moments []Moment) map[manifest.Key]Moment {
	made := map[manifest.Key]Moment{}
	for _, m := range moments {
		if m.What == Created && m.Key.Kind == "Secret" && m.App == "" {
			if _, ok := made[m.Key]; !ok {
				made[m.Key] = m
			}
		}
	}
	return made
}

func proveNeeds(app string, moments []Moment, made map[manifest.Key]Moment) []Proof {
	var proofs []Proof
	for _, m := range moments {
		if m.What != Created {
			continue
		}
		for _, need := range m.Needs {
			if secret, ok := made[need]; ok {
				proofs = append(proofs, Proof{
					App: app, Gate: "Secret → " + m.Key.Kind, Before: secret, After: m,
					Holds: secret.ResourceVersion < m.ResourceVersion,
				})
			}
		}
	}
	return proofs
}
