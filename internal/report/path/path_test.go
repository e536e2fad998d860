// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package path_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/wavetrain/wavetrain/internal/report/path"
)

func step(object string, start, ready int, after ...string) path.Step {
	return path.Step{Object: object, Start: time.Duration(start) * time.Second, Ready: time.Duration(ready) * time.Second, After: after}
}

func hung(object string, start, seen int, after ...string) path.Step {
	s := step(object, start, seen, after...)
	s.Open = true
	return s
}

func group(phase string, wave int, steps ...path.Step) path.Group {
	return path.Group{Phase: phase, Wave: wave, Steps: steps}
}

func words(t path.Timeline) string {
	var all []string
	for _, l := range t.Critical {
		word := fmt.Sprintf("%s/%d %s %s", l.Phase, l.Wave, l.Object, l.Took.Duration)
		if l.Open {
			word += " open"
		}
		all = append(all, word)
	}
	return strings.Join(all, ", ")
}

func TestCriticalPath(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		groups []path.Group
		want   string
	}{
		"slowest": {
			"a group is passed when its slowest is ready",
			[]path.Group{group("Sync", 0, step("a", 0, 2), step("b", 0, 5)), group("Sync", 1, step("c", 5, 6))},
			"Sync/0 b 5s, Sync/1 c 1s",
		},
		"chain": {
			"what the slowest had to wait for in its group comes before it",
			[]path.Group{group("Sync", 0, step("secret", 0, 3), step("quick", 0, 1), step("web", 3, 7, "quick", "secret"))},
			"Sync/0 secret 3s, Sync/0 web 4s",
		},
		"lag": {
			"the time between two groups belongs to the later one",
			[]path.Group{group("PreSync", -1, step("a", 0, 2)), group("Sync", 0, step("b", 4, 5))},
			"PreSync/-1 a 2s, Sync/0 b 3s",
		},
		"passive": {
			"a group that nobody had to wait for is not on the path",
			[]path.Group{group("Sync", 0, step("a", 0, 2)), group("Sync", 1, step("b", 2, 2)), group("Sync", 2, step("c", 2, 3))},
			"Sync/0 a 2s, Sync/2 c 1s",
		},
		"open": {
			"what never got ready is what is waited for, however late others were",
			[]path.Group{group("Sync", 0, step("late", 0, 30), hung("stuck", 0, 20))},
			"Sync/0 stuck 20s open",
		},
		"cycle": {
			"a cycle of dependencies ends",
			[]path.Group{group("Sync", 0, step("a", 0, 2, "b"), step("b", 0, 1, "a"))},
			"Sync/0 b 1s, Sync/0 a 1s",
		},
		"tie": {
			"of two that were ready at once the first by name is shown",
			[]path.Group{group("Sync", 0, step("b", 0, 2), step("a", 0, 2))},
			"Sync/0 a 2s",
		},
		"empty": {"groups without steps do not count", []path.Group{group("Sync", 0)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := words(path.Of(c.groups)); got != c.want {
				t.Errorf("%s: the path is\n%s\nwant\n%s", c.reason, got, c.want)
			}
		})
	}
}

func TestWaves(t *testing.T) {
	t.Parallel()
	got := path.Of([]path.Group{group("PreSync", -1, step("a", 1, 3), step("b", 2, 6)), group("Sync", 0, hung("c", 6, 9))})
	if len(got.Waves) != 2 || got.Waves[0].Took.Duration != 5*time.Second || got.Waves[0].Slowest != "b" || got.Waves[0].Open {
		t.Errorf("first wave %+v", got.Waves)
	}
	if w := got.Waves[1]; w.Start.Duration != 6*time.Second || w.Took.Duration != 3*time.Second || !w.Open || !got.Open {
		t.Errorf("second wave %+v", w)
	}
}

// The links of the path add up to the time of the whole, whatever the steps are.
func TestPathAddsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var groups []path.Group
		latest := time.Duration(0)
		for i := range rapid.IntRange(0, 5).Draw(t, "groups") {
			g := path.Group{Phase: "Sync", Wave: i}
			for j := range rapid.IntRange(0, 5).Draw(t, "steps") {
				s := step(fmt.Sprint(i, "/", j), 0, 0)
				s.Start = latest + time.Duration(rapid.IntRange(0, 100).Draw(t, "start"))
				s.Ready = s.Start + time.Duration(rapid.IntRange(0, 100).Draw(t, "took"))
				if j > 0 && rapid.Bool().Draw(t, "after") {
					s.After = []string{fmt.Sprint(i, "/", rapid.IntRange(0, j-1).Draw(t, "which"))}
				}
				g.Steps = append(g.Steps, s)
			}
			for _, s := range g.Steps {
				latest = max(latest, s.Ready)
			}
			groups = append(groups, g)
		}
		got, sum := path.Of(groups), time.Duration(0)
		for _, l := range got.Critical {
			sum += l.Took.Duration
		}
		if sum != got.Took.Duration || sum != latest {
			t.Fatalf("links add up to %s, the rollout took %s, and the last step was ready at %s", sum, got.Took.Duration, latest)
		}
	})
}
