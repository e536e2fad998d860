// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"slices"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// Need is an object that others bring, and that an object of the application waits
// for from now on, or no longer.
type Need struct {
	Phase  string `json:"phase"`
	Wave   int    `json:"wave"`
	Object string `json:"object"`
	Needs  string `json:"needs"`
	// Ends is true when it is no longer waited for.
	Ends bool `json:"ends,omitempty"`
}

func (n Need) line() string {
	how := "waits for"
	if n.Ends {
		how = "no longer waits for"
	}
	return fmt.Sprintf("%s/%d %s: %s %s, which others bring", n.Phase, n.Wave, n.Object, how, n.Needs)
}

// needsOf are the differences in what steps wait for, in their order. What goes with an
// object that is no longer rendered is not told.
func needsOf(before, after steps) []Need {
	type place struct {
		phase  manifest.Phase
		object string
	}
	at := func(s placedStep) place { return place{s.phase, s.Key.String() + named(s.Step)} }
	was := map[place][]manifest.Key{}
	for _, s := range before {
		was[at(s)] = s.Outside
	}
	var list []Need
	for _, s := range after {
		then := was[at(s)]
		add := func(k manifest.Key, ends bool) {
			list = append(list, Need{Phase: string(s.phase), Wave: s.wave, Object: named(s.Step), Needs: from(k, s.Key.Namespace), Ends: ends})
		}
		for _, k := range s.Outside {
			if !slices.Contains(then, k) {
				add(k, false)
			}
		}
		for _, k := range then {
			if !slices.Contains(s.Outside, k) {
				add(k, true)
			}
		}
	}
	return list
}

// brought are the objects that others bring and that a step waits for.
func brought(s plan.Step) []string {
	var list []string
	for _, k := range s.Outside {
		list = append(list, from(k, s.Key.Namespace))
	}
	return list
}

// from is an object as it is known in a namespace.
func from(k manifest.Key, namespace string) string {
	if k.Namespace == "" || k.Namespace == namespace {
		return k.Short()
	}
	return k.Kind + "/" + k.Namespace + "/" + k.Name
}
