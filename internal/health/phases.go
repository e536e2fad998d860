// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"
	"strings"
)

// phases says what the words mean that an operator sums an object up with. A word that is in no list is work in
// progress: operators add such words more often than words for failures.
type phases struct {
	// at is the path of the word below status; it defaults to phase.
	at []string
	// words is the path of the explanation below status; it defaults to message.
	words []string
	// good, bad, paused and unclear words.
	good, bad, paused, unclear []string
	// pausedBy are fields of the spec that are true when its owner paused the object.
	pausedBy []string
}

// byPhase judges by the one word of the operator.
func (s subject) byPhase(p phases) Result {
	for _, field := range p.pausedBy {
		if s.spec.isTrue(field) {
			return suspended("Paused", "its spec says "+field+": true")
		}
	}
	if s.behind() {
		return s.unobserved()
	}
	at, words := p.at, p.words
	if at == nil {
		at = []string{"phase"}
	}
	if words == nil {
		words = []string{"message"}
	}
	phase := s.status.text(at...)
	message := sentence(phase, s.status.text(words...))
	switch {
	case phase == "":
		return progressing("NoStatus", "its controller has not reported its state yet")
	case slices.Contains(p.good, phase):
		return healthy(wordOf(phase), message)
	case slices.Contains(p.bad, phase):
		return degraded(wordOf(phase), message)
	case slices.Contains(p.paused, phase):
		return suspended(wordOf(phase), message)
	case slices.Contains(p.unclear, phase):
		return unknown(wordOf(phase), message)
	}
	return progressing(wordOf(phase), message)
}

// wordOf makes a reason of a phase, which may be a sentence.
func wordOf(phase string) string {
	if strings.ContainsAny(phase, " \t\n") {
		return "Phase"
	}
	return phase
}

func byPhase(p phases) rule { return func(s subject) Result { return s.byPhase(p) } }
