// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

func TestProve(t *testing.T) {
	at := func(rv uint64, what What, kind, name string, phase manifest.Phase, wave int) Moment {
		return Moment{Key: manifest.Key{Kind: kind, Namespace: "ns", Name: name}, What: what, ResourceVersion: rv, App: "app", Phase: phase, Wave: wave}
	}
	const pre, sync = manifest.PreSync, manifest.Sync
	secret := Moment{Key: manifest.Key{Kind: "Secret", Namespace: "ns", Name: "s"}, What: Created, ResourceVersion: 15, Owned: true}
	needing := func(m Moment) Moment { m.Needs = []manifest.Key{secret.Key}; return m }

	for name, c := range map[string]struct {
		reason  string
		moments []Moment
		want    map[string]bool
	}{
		"in order": {
			"the next group begins after the last object of the one before is done",
			[]Moment{at(1, Created, "Job", "j", pre, -1), at(5, Done, "Job", "j", pre, -1), at(6, Created, "Deployment", "d", sync, 0)},
			map[string]bool{"PreSync/-1 → Sync/0": true},
		},
		"too early": {
			"an object created before the group ahead is done breaks the order",
			[]Moment{at(1, Created, "Job", "j", pre, -1), at(4, Created, "Deployment", "d", sync, 0), at(5, Done, "Job", "j", pre, -1)},
			map[string]bool{"PreSync/-1 → Sync/0": false},
		},
		"one never done": {
			"one object that was never done breaks it although another was",
			[]Moment{at(1, Created, "Job", "j", pre, -1), at(1, Created, "Job", "k", pre, -1), at(5, Done, "Job", "j", pre, -1), at(6, Created, "Deployment", "d", sync, 0)},
			map[string]bool{"PreSync/-1 → Sync/0": false},
		},
		"waves by number": {
			"waves are ordered as numbers, phases by their rank",
			[]Moment{
				at(1, Created, "A", "a", sync, -2), at(1, Done, "A", "a", sync, -2), at(2, Created, "A", "b", sync, 10), at(2, Done, "A", "b", sync, 10),
				at(3, Created, "A", "c", manifest.PostSync, -5),
			},
			map[string]bool{"Sync/-2 → Sync/10": true, "Sync/10 → PostSync/-5": true},
		},
		"secret first": {
			"a workload comes after the Secret that a controller makes for it",
			[]Moment{secret, needing(at(20, Created, "Deployment", "d", sync, 0))},
			map[string]bool{"Secret → Deployment": true},
		},
		"secret late": {
			"also inside one group",
			[]Moment{needing(at(10, Created, "Deployment", "d", sync, 0)), secret},
			map[string]bool{"Secret → Deployment": false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]bool{}
			for _, p := range Prove(c.moments) {
				got[p.Gate] = p.Holds
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
