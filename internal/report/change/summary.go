// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/report/findings"
)

// Summary says in a sentence what happens.
func Summary(apps []*App, unchanged int) string {
	if len(apps) == 0 {
		return "nothing changes in " + many(unchanged, "application")
	}
	counts, restarts := map[string]int{}, 0
	for _, a := range apps {
		restarts += len(a.Restarts)
		for _, g := range a.Groups {
			if g.onFailure() {
				continue
			}
			for _, s := range g.Steps {
				counts[s.Action]++
			}
		}
	}
	text := fmt.Sprintf("%d of %s: %d to create, %d to update, %d to delete, %s to run, %s to restart",
		len(apps), many(len(apps)+unchanged, "application"), counts[Create], counts[Update], counts[Delete], many(counts[Hook], "hook"), many(restarts, "workload"))
	if n := counts[Replace]; n > 0 {
		text += fmt.Sprintf(", %d to replace", n)
	}
	return text
}

func many(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// span is a duration as people write it.
func span(d time.Duration) string {
	to := 100 * time.Millisecond
	if d >= time.Minute {
		to = time.Second
	}
	text := d.Round(to).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// onFailure tells whether the group's hooks only run when the sync fails.
func (g Group) onFailure() bool { return g.Phase == string(manifest.SyncFail) }

// title is where the group stands.
func (g Group) title() string {
	text := fmt.Sprintf("%s/%d", g.Phase, g.Wave)
	if g.onFailure() {
		text += " (only if the sync fails)"
	}
	return text
}

// serious are the findings that are more than remarks.
func serious(a *App) []findings.Finding {
	var list []findings.Finding
	for _, severity := range []diag.Severity{diag.Error, diag.Warning} {
		for _, f := range a.Findings {
			if f.Severity == severity {
				list = append(list, f)
			}
		}
	}
	return list
}

// unchangedIn is how many objects of a group stay as they are.
func unchangedIn(g Group) int {
	n := 0
	for _, s := range g.Steps {
		if s.Action == None {
			n++
		}
	}
	return n
}

// acting are the steps of a group that people want to see: those that do something,
// and those that one might have expected to.
func acting(g Group) []Step {
	var list []Step
	for _, s := range g.Steps {
		if s.Action != None {
			list = append(list, s)
		}
	}
	return list
}

// remark is what there is to say about a step besides its fields.
func (s Step) remark() string {
	var words []string
	for _, w := range []string{s.Reason, s.Risk} {
		if w != "" {
			words = append(words, w)
		}
	}
	if len(s.Needs) > 0 && s.Acts() {
		words = append(words, "waits for "+strings.Join(s.Needs, ", ")+", which others bring")
	}
	if s.Restarts {
		words = append(words, "its Pods are replaced")
	}
	if s.Refusal != "" {
		words = append(words, "the API server refuses it: "+s.Refusal)
	}
	return strings.Join(words, "; ")
}

// head is an application's line.
func (a *App) head() string {
	words := []string{a.What}
	for _, r := range a.Revisions {
		if r == "" {
			r = "local files"
		}
		words = append(words, short(r))
	}
	return strings.Join(words, ", ")
}

// repeated is in how many objects a change has to be for it to be written once.
const repeated = 3

// common are the changes that many objects have, as lines in the order of their
// paths, each with the number of objects.
func (a *App) common() (lines []string, in map[string]int) {
	in = map[string]int{}
	for _, g := range a.Groups {
		for _, s := range g.Steps {
			for _, c := range s.Changes {
				if c.Path != "" {
					in[line(c)]++
				}
			}
		}
	}
	maps.DeleteFunc(in, func(_ string, n int) bool { return n < repeated })
	return slices.Sorted(maps.Keys(in)), in
}

// own are the changes of a step that are not written once for many objects.
func (s Step) own(in map[string]int) []diff.Change {
	return slices.DeleteFunc(slices.Clone(s.Changes), func(c diff.Change) bool { return in[line(c)] > 0 })
}

// short is a revision as people write it.
func short(revision string) string {
	const commit, enough = 40, 7
	if len(revision) == commit {
		return revision[:enough]
	}
	return revision
}

// times is what is known of the whole time, in words.
func (e Expected) times() string {
	var words []string
	if e.Took.Duration > 0 {
		words = append(words, span(e.Took.Duration)+" at least")
	}
	if e.Last.Duration > 0 {
		words = append(words, span(e.Last.Duration)+" in the last release")
	}
	if len(words) == 0 {
		return "for no certain time"
	}
	return strings.Join(words, ", ")
}

// line is a gate in a line.
func (g Gate) line() string {
	text := fmt.Sprintf("%s/%d %s", g.Phase, g.Wave, g.Object)
	if g.AtLeast.Duration > 0 {
		text += " " + span(g.AtLeast.Duration)
	}
	text += ": " + g.Why
	if g.Last.Duration > 0 {
		text += "; in the last release " + span(g.Last.Duration)
		if g.LastFor != "" && g.LastFor != g.Object {
			text += ", for " + g.LastFor
		}
	}
	return text
}

// line is a change of a field in a line.
func line(c diff.Change) string {
	path := c.Path
	if path == "" {
		path = "(the whole object)"
	}
	return fmt.Sprintf("%s: %s → %s", path, value(c.Live), value(c.Desired))
}

// maxValue is how long a value may be in a line.
const maxValue = 120

func value(v any) string {
	if v == nil {
		return "(none)"
	}
	if s, ok := v.(string); ok && digestLike(s) {
		v = s[:8] + "…"
	} else if ok && len(s) > 4*maxValue {
		// What is cut off later need not be written first.
		v = strings.ToValidUTF8(s[:4*maxValue], "") + "…"
	}
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "?"
	}
	runes := []rune(strings.TrimSpace(text.String()))
	if len(runes) > maxValue {
		return string(runes[:maxValue]) + "…"
	}
	return string(runes)
}

// digestLike tells whether a text is nothing but a digest: nobody reads it to its
// end.
func digestLike(s string) bool {
	const shortest = 40
	return len(s) >= shortest && strings.Trim(s, "0123456789abcdef") == ""
}
