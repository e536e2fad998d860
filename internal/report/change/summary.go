// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/report/findings"
)

// Summary says in a sentence what happens.
func Summary(apps []*App, unchanged int) string {
	if len(apps) == 0 {
		return fmt.Sprintf("nothing changes in %d applications", unchanged)
	}
	counts, restarts := map[string]int{}, 0
	for _, a := range apps {
		restarts += len(a.Restarts)
		for _, g := range a.Groups {
			for _, s := range g.Steps {
				counts[s.Action]++
			}
		}
	}
	text := fmt.Sprintf("%d of %d applications: %d to create, %d to update, %d to delete, %d hooks to run, %d workloads to restart",
		len(apps), len(apps)+unchanged, counts[Create], counts[Update], counts[Delete], counts[Hook], restarts)
	if n := counts[Replace]; n > 0 {
		text += fmt.Sprintf(", %d to replace", n)
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
		words = append(words, short(r))
	}
	return strings.Join(words, ", ")
}

// short is a revision as people write it.
func short(revision string) string {
	const commit, enough = 40, 7
	if len(revision) == commit {
		return revision[:enough]
	}
	return revision
}

// atLeast is the sentence about the whole time.
func (e Expected) atLeast() string {
	if e.Took.Duration == 0 {
		return "nothing in the manifests delays it"
	}
	return fmt.Sprintf("%s at least", e.Took.Duration)
}

// line is a gate in a line.
func (g Gate) line() string {
	text := fmt.Sprintf("%s/%d %s", g.Phase, g.Wave, g.Object)
	if g.AtLeast.Duration > 0 {
		text += " " + g.AtLeast.Duration.String()
	}
	return text + ": " + g.Why
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
	if s, ok := v.(string); ok && len(s) > 4*maxValue {
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
