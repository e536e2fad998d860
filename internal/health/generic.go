// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

// genericRule judges a kind no rule was made for by the conventions that most controllers follow: an observed
// generation, on the status or on the condition, and a condition that is True when all is well. An object that shows
// no sign of observing generations is left alone, because its condition may be about any of them.
//
// A condition that is not True means work in progress, never Degraded: what an unknown controller means by False is
// not known. Only Stalled, which exists to say so, is Degraded.
func genericRule(s subject) Result {
	all := s.conditions()
	_, observes := s.status.number("observedGeneration")
	main, found := condition{}, false
	for _, c := range all {
		observes = observes || c.observed > 0
		if !found || precedence(c.Type) < precedence(main.Type) {
			main, found = c, true
		}
	}
	if !observes || !found || precedence(main.Type) == notDecisive {
		return Result{}
	}
	r := judgeGeneric(s, all, main)
	r.Known, r.Generic = true, true
	return r
}

func judgeGeneric(s subject, all []condition, main condition) Result {
	if s.behind() {
		return s.unobserved()
	}
	for _, c := range all {
		if s.stale(c) || !c.isTrue() {
			continue
		}
		switch c.Type {
		case "Stalled":
			return degraded(c.Reason, c.words())
		case "Reconciling":
			return progressing(c.Reason, c.words())
		}
	}
	switch {
	case s.stale(main):
		return s.unobserved()
	case main.isTrue():
		return healthy(main.Reason, main.words())
	}
	return progressing(main.Reason, main.words())
}

const notDecisive = 4

// precedence orders conditions by how much they say about the whole object; the lowest decides.
func precedence(kind string) int {
	switch kind {
	case "Ready":
		return 0
	case "Available":
		return 1
	case "Programmed":
		return 2
	case "Synced":
		return 3
	}
	return notDecisive
}
