// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package gantt

import (
	"html/template"
	"strings"
	"time"

	"github.com/wavetrain/wavetrain/internal/rehearse"
)

// bar is a span as the page draws it, in percent of the whole time.
type bar struct {
	Span
	Left, Width float64
	Took        string
}

// HTML draws the spans along the time, with operations and findings below.
func HTML(r *rehearse.Result) (string, error) {
	spans := Spans(r)
	var whole time.Duration
	for _, s := range spans {
		whole = max(whole, s.Offset+s.End.Sub(s.Start))
	}
	bars := make([]bar, len(spans))
	for i, s := range spans {
		bars[i] = bar{Span: s, Took: s.End.Sub(s.Start).Round(100 * time.Millisecond).String()}
		if whole > 0 {
			bars[i].Left = 100 * float64(s.Offset) / float64(whole)
			bars[i].Width = max(100*float64(s.End.Sub(s.Start))/float64(whole), 0.3)
		}
	}
	page, err := template.New("page").Parse(pageText)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = page.Execute(&b, map[string]any{"Result": r, "Bars": bars, "Whole": whole.Round(100 * time.Millisecond)})
	return b.String(), err
}

const pageText = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Rehearsal</title>
<style>
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; color: #1b1f24; background: #fff; }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
.row { display: grid; grid-template-columns: 4rem 9rem 22rem 1fr 9rem; gap: .6rem; align-items: center }
.row:nth-child(odd) { background: #f6f8fa }
.track { position: relative; height: 1rem }
.bar { position: absolute; top: .2rem; height: .6rem; border-radius: .3rem; background: #2f7d4f }
.bar.failed { background: #b3261e } .bar.none { background: #8a93a0 }
code { font-size: .85em } .error { color: #b3261e } .warning { color: #8a5a00 }
@media (prefers-color-scheme: dark) { body { background: #14171b; color: #e6e9ed } .row:nth-child(odd) { background: #1c2127 } }
</style></head><body>
<h1>Rehearsal: {{if .Result.Converged}}everything converged{{else}}not everything converged{{end}}</h1>
<p>{{.Whole}} from the first event to the last that counts.</p>
<h2>What took how long</h2>
{{range .Bars}}<div class="row"><span>{{.Rev}}</span><span>{{.App}}</span><code>{{.Object}}</code><span class="track"><span class="bar {{if .Outcome}}{{.Outcome}}{{else}}none{{end}}" style="left:{{printf "%.2f" .Left}}%;width:{{printf "%.2f" .Width}}%"></span></span><span>{{.Took}} {{.Outcome}}</span></div>
{{end}}<h2>Operations</h2><ul>
{{range .Result.Operations}}<li>{{.App}} {{.Rev}}, attempt {{.Attempt}}: {{.Phase}}: {{.Message}}</li>
{{end}}</ul>
{{if .Result.Findings}}<h2>Findings</h2><ul>
{{range .Result.Findings}}<li class="{{.Severity}}">{{.Severity}} <code>{{.Code}}</code> {{.Message}}</li>
{{end}}</ul>{{end}}
{{if .Result.Hung}}<h2>What hangs</h2><ul>{{range .Result.Hung}}<li>{{.}}</li>{{end}}</ul>{{end}}
</body></html>
`
