// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"encoding/json"
	"fmt"
	"html/template"
	"strings"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/report/findings"
)

// Summary says in a sentence what a commit does.
func Summary(apps []*App, unchanged int) string {
	if len(apps) == 0 {
		return fmt.Sprintf("nothing changes in %d applications", unchanged)
	}
	created, updated, deleted, hooks, restarts := 0, 0, 0, 0, 0
	for _, a := range apps {
		restarts += len(a.Restarts)
		for _, g := range a.Groups {
			for _, s := range g.Steps {
				switch s.Action {
				case "create":
					created++
				case "update":
					updated++
				case "delete":
					deleted++
				case "hook":
					hooks++
				}
			}
		}
	}
	return fmt.Sprintf("%d of %d applications: %d to create, %d to update, %d to delete, %d hooks to run, %d workloads to restart",
		len(apps), len(apps)+unchanged, created, updated, deleted, hooks, restarts)
}

// Text writes the changes for a terminal.
func Text(apps []*App, unchanged int) string {
	var b strings.Builder
	for _, a := range apps {
		fmt.Fprintf(&b, "%s (%s)\n", a.Name, a.What)
		for _, g := range a.Groups {
			fmt.Fprintf(&b, "  %s/%d\n", g.Phase, g.Wave)
			for _, s := range g.Steps {
				fmt.Fprintf(&b, "    %-6s  %s\n", s.Action, s.Object)
				for _, c := range s.Changes {
					fmt.Fprintf(&b, "            %s\n", line(c))
				}
			}
			if len(g.Waits) > 0 {
				fmt.Fprintf(&b, "    then waits for %s\n", strings.Join(g.Waits, ", "))
			}
		}
		if len(a.Restarts) > 0 {
			fmt.Fprintf(&b, "  restarts %s\n", strings.Join(a.Restarts, ", "))
		}
		for _, f := range a.Findings {
			if f.Severity != diag.Info {
				fmt.Fprintf(&b, "  %s: %s [%s]\n", f.Severity, f.Message, f.Code)
			}
		}
		b.WriteString("\n")
	}
	b.WriteString(Summary(apps, unchanged) + "\n")
	return b.String()
}

// line is a change of a field in a line.
func line(c diff.Change) string {
	return fmt.Sprintf("%s: %s → %s", c.Path, value(c.Live), value(c.Desired))
}

// maxValue is how long a value may be in a line.
const maxValue = 120

func value(v any) string {
	if v == nil {
		return "(none)"
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	text := []rune(string(data))
	if len(text) > maxValue {
		return string(text[:maxValue]) + "…"
	}
	return string(text)
}

// commentLimit is how long a comment on GitHub may be; GitLab allows more.
const commentLimit = 65536

// Markdown writes the changes as a comment on a change: what matters most first,
// and never longer than a comment may be.
func Markdown(apps []*App, unchanged int) string {
	var all []findings.Finding
	for _, a := range apps {
		for _, f := range a.Findings {
			if f.Severity != diag.Info {
				all = append(all, f)
			}
		}
	}
	parts := []string{"### Wavetrain: " + Summary(apps, unchanged) + "\n"}
	if deletes := list(apps, func(a *App) []string { return a.Deletes }); deletes != "" {
		parts = append(parts, "\n**Deletes** "+deletes+"\n")
	}
	if len(all) > 0 {
		parts = append(parts, "\n"+strings.Replace(findings.Markdown(all, findings.Summary(all)), "### Wavetrain: ", "#### Findings: ", 1))
	}
	if restarts := list(apps, func(a *App) []string { return a.Restarts }); restarts != "" {
		parts = append(parts, "\n**Restarts** "+restarts+"\n")
	}
	for _, a := range apps {
		parts = append(parts, details(a))
	}
	var b strings.Builder
	for i, part := range parts {
		const room = 200
		if b.Len()+len(part)+room > commentLimit {
			fmt.Fprintf(&b, "\n_%d further parts do not fit into a comment: `wavetrain plan` shows them._\n", len(parts)-i)
			break
		}
		b.WriteString(part)
	}
	return b.String()
}

func list(apps []*App, of func(*App) []string) string {
	var words []string
	for _, a := range apps {
		for _, object := range of(a) {
			words = append(words, "`"+a.Name+"` "+object)
		}
	}
	return strings.Join(words, ", ")
}

// details is an application that can be unfolded.
func details(a *App) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n<details><summary><b>%s</b> (%s)</summary>\n\n", template.HTMLEscapeString(a.Name), a.What)
	for _, g := range a.Groups {
		fmt.Fprintf(&b, "**%s/%d**\n\n", g.Phase, g.Wave)
		for _, s := range g.Steps {
			fmt.Fprintf(&b, "- %s %s\n", s.Action, s.Object)
			for _, c := range s.Changes {
				fmt.Fprintf(&b, "  - `%s`\n", strings.ReplaceAll(line(c), "`", "'"))
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("</details>\n")
	return b.String()
}

// HTML writes the changes as a page.
func HTML(apps []*App, unchanged int) (string, error) {
	page, err := template.New("page").Funcs(template.FuncMap{"line": line}).Parse(pageText)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = page.Execute(&b, map[string]any{"Apps": apps, "Summary": Summary(apps, unchanged)})
	return b.String(), err
}

const pageText = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Plan</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem; color: #1b1f24; background: #fff }
h1 { font-size: 1.4rem } h2 { font-size: 1.15rem; margin-top: 2rem } h3 { font-size: 1rem; margin: 1rem 0 .3rem }
.create { color: #1a7f37 } .update { color: #8a5a00 } .delete, .error { color: #b3261e } .hook { color: #3b5bdb } .warning { color: #8a5a00 }
.step { margin-left: 1rem } .field { margin-left: 2.5rem; font: .85em/1.5 ui-monospace, monospace; overflow-wrap: anywhere }
@media (prefers-color-scheme: dark) { body { color: #e6e9ed; background: #14171b } .create { color: #57c47a } .update, .warning { color: #e0b252 } .delete, .error { color: #ff8a80 } .hook { color: #91a7ff } }
</style></head><body>
<h1>{{.Summary}}</h1>
{{range .Apps}}<h2>{{.Name}} <small>{{.What}}</small></h2>
{{range .Findings}}{{if ne .Severity "info"}}<p class="{{.Severity}}">{{.Severity}}: {{.Message}} <code>{{.Code}}</code></p>{{end}}{{end}}
{{range .Groups}}<h3>{{.Phase}}/{{.Wave}}</h3>
{{range .Steps}}<div class="step"><b class="{{.Action}}">{{.Action}}</b> {{.Object}}</div>
{{range .Changes}}<div class="field">{{line .}}</div>
{{end}}{{end}}{{end}}{{end}}
</body></html>
`
