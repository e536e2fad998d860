// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Bucket is a row of the table that compares services: what most of them have
// at one stage of the rollout.
type Bucket struct {
	// Bucket is the phase and its wave or range of waves: "PreSync (-2 → -1)",
	// "Sync 2 (core: 5)" where a service does the same in another wave.
	Bucket  string `json:"bucket"`
	Purpose string `json:"purpose"`
	// Who has it, in words; Services by name.
	Who      string   `json:"who"`
	Services []string `json:"services"`
	// Kinds tells per kind which services have it.
	Kinds []KindShare `json:"kinds"`
	// Exceptions say where a service differs from the row.
	Exceptions []string `json:"exceptions"`
}

// KindShare tells which services have objects of a kind in a bucket.
type KindShare struct {
	Kind     string   `json:"kind"`
	Services []string `json:"services"`
}

// pattern compares services bucket by bucket.
func pattern(services []serviceEntries) []Bucket {
	out := []Bucket{}
	for _, phase := range allPhases() {
		if phase == DeleteOnly {
			continue
		}
		stages := ranges(services, phase)
		if phase == string(manifest.Sync) {
			stages = aligned(services)
		}
		for _, s := range stages {
			out = append(out, s.bucket(services))
		}
	}
	return out
}

// stage is a bucket in the making: which entries of which service belong to it.
type stage struct {
	phase     string
	low, high int
	// shifts are waves of services that do the same elsewhere.
	shifts map[int]int
	// companions are waves of services that have some kinds of it elsewhere.
	companions map[int][]int
	members    map[int][]entry
}

func newStage(phase string, wave int) *stage {
	return &stage{phase: phase, low: wave, high: wave, shifts: map[int]int{}, companions: map[int][]int{}, members: map[int][]entry{}}
}

// ranges joins neighbouring waves of a phase that the same services have.
func ranges(services []serviceEntries, phase string) []*stage {
	var stages []*stage
	for _, wave := range wavesOf(services, phase) {
		next := newStage(phase, wave)
		for i, s := range services {
			if list := s.at(phase, wave); len(list) > 0 {
				next.members[i] = list
			}
		}
		if n := len(stages); n > 0 && sameKeys(stages[n-1].members, next.members) {
			last := stages[n-1]
			last.high = wave
			for i, list := range next.members {
				last.members[i] = append(last.members[i], list...)
			}
			continue
		}
		stages = append(stages, next)
	}
	return stages
}

// aligned finds the waves of the Sync phase that mean the same: equal numbers
// first, then what plays the same role under another number.
func aligned(services []serviceEntries) []*stage {
	phase := string(manifest.Sync)
	a := aligner{services: services, phase: phase}
	for _, wave := range wavesOf(services, phase) {
		var holders []int
		for i, s := range services {
			if len(s.at(phase, wave)) > 0 {
				holders = append(holders, i)
			}
		}
		if len(holders) > 1 {
			st := newStage(phase, wave)
			for _, i := range holders {
				st.members[i] = services[i].at(phase, wave)
			}
			a.stages = append(a.stages, st)
		}
	}
	for i := range services {
		a.place(i)
	}
	slices.SortStableFunc(a.stages, func(x, y *stage) int { return x.low - y.low })
	return a.stages
}

type aligner struct {
	services []serviceEntries
	phase    string
	stages   []*stage
}

// place puts the waves of service i that nobody shares: with a later stage of
// the same role, with the stage before if they bring nothing new, or alone.
func (a *aligner) place(i int) {
	var last *stage
	for _, wave := range wavesOf(a.services[i:i+1], a.phase) {
		list := a.services[i].at(a.phase, wave)
		if st := a.holding(i, wave); st != nil {
			last = st
			continue
		}
		if st := a.playing(role(list), i, last); st != nil {
			st.shifts[i] = wave
			st.members[i] = list
			last = st
			continue
		}
		if last != nil && last.hasKinds(list, i) {
			last.companions[i] = append(last.companions[i], wave)
			last.members[i] = append(slices.Clip(last.members[i]), list...)
			continue
		}
		last = newStage(a.phase, wave)
		last.members[i] = list
		a.stages = append(a.stages, last)
	}
}

// holding returns the stage that has the service's wave under its own number.
func (a *aligner) holding(i, wave int) *stage {
	for _, st := range a.stages {
		if _, has := st.members[i]; has && st.low == wave {
			return st
		}
	}
	return nil
}

// playing returns a stage after last with the role, in which service i has no
// part yet.
func (a *aligner) playing(want string, i int, last *stage) *stage {
	for _, st := range a.stages {
		if _, has := st.members[i]; has || want == "" || last != nil && st.low <= last.low {
			continue
		}
		for _, list := range st.members {
			if role(list) == want {
				return st
			}
		}
	}
	return nil
}

// role is what a wave is about: Jobs, else workloads, else nothing special.
func role(list []entry) string {
	result := ""
	for _, e := range list {
		if _, _, ok := manifest.PodSpec(e.object); !ok {
			continue
		}
		if e.Kind == "Job" {
			return "job"
		}
		result = "workload"
	}
	return result
}

// hasKinds reports whether other services have all kinds of the list in the
// stage.
func (s *stage) hasKinds(list []entry, but int) bool {
	for _, e := range list {
		found := false
		for i, members := range s.members {
			found = found || i != but && slices.ContainsFunc(members, func(m entry) bool { return m.Kind == e.Kind })
		}
		if !found {
			return false
		}
	}
	return true
}

// at returns the entries of a phase and wave.
func (s serviceEntries) at(phase string, wave int) []entry {
	var out []entry
	for _, e := range s.entries {
		if e.Phase == phase && e.Wave == wave {
			out = append(out, e)
		}
	}
	return out
}

func wavesOf(services []serviceEntries, phase string) []int {
	var out []int
	for _, s := range services {
		for _, e := range s.entries {
			if e.Phase == phase && !slices.Contains(out, e.Wave) {
				out = append(out, e.Wave)
			}
		}
	}
	slices.Sort(out)
	return out
}

func sameKeys(a, b map[int][]entry) bool {
	if len(a) != len(b) {
		return false
	}
	for k := range a {
		if _, ok := b[k]; !ok {
			return false
		}
	}
	return true
}

// label writes the stage's phase and waves.
func (s *stage) label(names []string) string {
	text := fmt.Sprintf("%s %d", s.phase, s.low)
	if s.high != s.low {
		text = fmt.Sprintf("%s (%d → %d)", s.phase, s.low, s.high)
	}
	var shifts []string
	for i, n := range names {
		if wave, ok := s.shifts[i]; ok {
			shifts = append(shifts, fmt.Sprintf("%s: %d", n, wave))
		}
	}
	if len(shifts) > 0 {
		text += " (" + strings.Join(shifts, ", ") + ")"
	}
	return text
}

var hyphenMinus = regexp.MustCompile(`(^|[ (])-(\d)`)

// typeset gives numbers in a label the minus sign of the page.
func typeset(label string) string { return hyphenMinus.ReplaceAllString(label, "${1}−${2}") }
