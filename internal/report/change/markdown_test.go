// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package change_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/report/change"
	"github.com/wavetrain/wavetrain/internal/report/findings"
)

// text is any text that a cluster or a chart may give, short or very long.
func text(t *rapid.T, label string) string {
	s := rapid.StringN(0, 40, -1).Draw(t, label)
	return strings.Repeat(s, rapid.SampledFrom([]int{1, 1, 1, 20, 200}).Draw(t, label+" times"))
}

// However much happens, a comment is not longer than a comment may be, is valid, has
// every fold closed, begins with the counts, and says so when something is left out.
func TestMarkdownIsAComment(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var apps []*change.App
		step := rapid.Custom(func(t *rapid.T) change.Step {
			s := change.Step{Action: rapid.SampledFrom([]string{"create", "update", "delete", "hook", "none", "keep"}).Draw(t, "action"), Object: "ConfigMap/" + text(t, "name"), Reason: text(t, "reason")}
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				s.Changes = append(s.Changes, diff.Change{Path: text(t, "path"), Live: text(t, "live"), Desired: text(t, "desired")})
			}
			return s
		})
		shown := 0
		for i := range rapid.IntRange(1, 4).Draw(t, "apps") {
			a := &change.App{Name: fmt.Sprintf("app-%d%s", i, text(t, "app")), What: change.Changed}
			for wave := range rapid.IntRange(0, 4).Draw(t, "groups") {
				// One drawn step stands for very many.
				some, times := rapid.SliceOfN(step, 1, 4).Draw(t, "steps"), rapid.SampledFrom([]int{1, 1, 20, 200}).Draw(t, "times")
				g := change.Group{Phase: "Sync", Wave: wave}
				for range times {
					g.Steps = append(g.Steps, some...)
				}
				a.Groups = append(a.Groups, g)
				for _, s := range g.Steps {
					if s.Action != "none" {
						shown++
					}
					if s.Action == "delete" {
						a.Deletes = append(a.Deletes, s.Object)
					}
				}
			}
			for range rapid.SampledFrom([]int{0, 1, 5, 1000}).Draw(t, "findings") {
				a.Findings = append(a.Findings, findings.Finding{Code: "c", Severity: diag.Error, Message: "m" + a.Name, Hint: "h"})
			}
			apps = append(apps, a)
		}
		got := change.Markdown(apps, 3)
		switch {
		case utf8.RuneCountInString(got) > 65536:
			t.Fatalf("%d characters", utf8.RuneCountInString(got))
		case !utf8.ValidString(got):
			t.Fatal("no valid UTF-8")
		case strings.Count(got, "<details>") != strings.Count(got, "</details>"):
			t.Fatalf("%d folds begin, %d end", strings.Count(got, "<details>"), strings.Count(got, "</details>"))
		case !strings.HasPrefix(got, "### Wavetrain: "+change.Summary(apps, 3)+"\n"):
			t.Fatalf("it begins with %q", got[:min(len(got), 100)])
		case shown > 4000 && !strings.Contains(got, "do not fit"):
			t.Fatal("it does not say that something is left out")
		}
	})
}

// What is lost comes first, and the applications with what matters most.
func TestMarkdownOrder(t *testing.T) {
	t.Parallel()
	calm := change.Compare("a-calm", side(t, fmt.Sprintf(config, "c", "one")), side(t, fmt.Sprintf(config, "c", "two")))
	loses := change.Compare("b-loses", side(t, fmt.Sprintf(config, "gone", "x")+fmt.Sprintf(config, "c", "one")), side(t, fmt.Sprintf(config, "c", "one")))
	restarting := change.Compare("c-restarts", side(t, fmt.Sprintf(web, "1")), side(t, fmt.Sprintf(web, "2")))
	calm.Findings = append(calm.Findings, findings.Finding{Code: "w", Severity: diag.Warning, Message: "a warning"})
	got := change.Markdown([]*change.App{calm, loses, restarting}, 0)
	at := -1
	for _, part := range []string{"**Deletes** `b-loses` ConfigMap/gone", "a warning", "**Restarts** `c-restarts` Deployment/web", "<b>b-loses</b>", "<b>c-restarts</b>", "<b>a-calm</b>"} {
		i := strings.Index(got, part)
		if i <= at {
			t.Errorf("%q is missing or out of order in:\n%s", part, got)
		}
		at = i
	}
}

// What stands in manifests is no markup.
func TestMarkupIsText(t *testing.T) {
	t.Parallel()
	const nasty = "</details><img src=x onerror=alert(1)> `x` @everyone [l](http://x)"
	a := change.Compare("app", side(t, fmt.Sprintf(config, "c", "one")), side(t, fmt.Sprintf(config, "c", nasty)))
	a.Name, a.Groups[0].Steps[0].Reason = nasty, nasty
	a.Deletes = []string{nasty}
	page, err := change.HTML([]*change.App{a}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page, "<img") || strings.Contains(page, `src="`) || strings.Contains(page, `href="http`) || strings.Contains(page, "url(") {
		t.Error("the page has markup of a manifest, or something from elsewhere")
	}
	comment := change.Markdown([]*change.App{a}, 0)
	for line := range strings.SplitSeq(comment, "\n") {
		if strings.HasPrefix(line, "<details>") {
			// Links are none inside of HTML.
			line = strings.ReplaceAll(line, "[l](", "")
		}
		for i, part := range strings.Split(line, "`") {
			// Every other part is code, which is shown as it is.
			if i%2 == 0 && (strings.Contains(part, "<img") || strings.Contains(part, "@everyone") || strings.Contains(strings.ReplaceAll(part, `\[l](`, ""), "[l](")) {
				t.Errorf("markup in %q", line)
			}
		}
	}
}
