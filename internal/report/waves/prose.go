// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"fmt"
	"slices"
	"strings"
)

const (
	pageTitle = "Sync waves: resources per phase and wave"
	introOne  = "Which resources are created, and in what order. Rendered from the sources named below, so it says what actually deploys."
	howTo     = "Resources are applied phase by phase, and within a phase wave by wave, from low to high. A wave begins when everything in the one before it is healthy, and every hook in it has succeeded."
)

// phaseMeaning says what a phase is for.
func phaseMeaning(phase string) string {
	switch phase {
	case "PreSync":
		return "before the main apply. Helm's pre-install and pre-upgrade hooks run here; their hook-weight is the wave."
	case "Sync":
		return "the main apply. Negative waves come first."
	case "PostSync":
		return "after everything of Sync is healthy. Helm's post-install and post-upgrade hooks run here."
	case "SyncFail":
		return "only when a rollout has failed."
	default:
		return "only when the application is deleted (pre-delete and post-delete hooks), never in a sync."
	}
}

// unused names the phases that no service has.
func (p *Page) unused() string {
	var list []string
	for _, phase := range allPhases() {
		if !slices.Contains(p.phases, phase) {
			list = append(list, phase)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "Not used here: " + enumerate(list) + "."
}

// footnotes numbers the exceptions of the pattern through the whole table.
func (p *Page) footnotes() (marks [][]int, notes []string) {
	for _, b := range p.Pattern {
		var own []int
		for _, e := range b.Exceptions {
			notes = append(notes, e)
			own = append(own, len(notes))
		}
		marks = append(marks, own)
	}
	return marks, notes
}

// marked writes the marks of footnotes.
func marked(format string, marks []int) string {
	var b strings.Builder
	for _, n := range marks {
		fmt.Fprintf(&b, format, n)
	}
	return b.String()
}

// leftOutSentence names the objects without a part in a rollout.
func (s ServicePage) leftOutSentence() string {
	if len(s.leftOut) == 0 {
		return ""
	}
	return fmt.Sprintf("Left out: %s.", strings.Join(s.leftOut, "; "))
}
