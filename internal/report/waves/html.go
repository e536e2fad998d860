// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"html/template"
	"strings"
)

const htmlPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24; background: #fff; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.6rem; border-bottom: 1px solid #d0d7de; }
td.wave { font-variant-numeric: tabular-nums; white-space: nowrap; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { padding: 0.75rem; background: #f6f8fa; overflow-x: auto; }
.problem { border-left: 4px solid #cf222e; padding-left: 0.75rem; }
@media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117; } th, td { border-color: #30363d; } pre { background: #161b22; } }
</style>
</head>
<body>
<h1>{{.Title}}</h1>
<p>{{.Intro}}</p>
<h2>How to read this</h2>
<p>{{.HowTo}}</p>
<ul>
{{- range .Phases}}
<li><strong>{{.Name}}</strong> — {{.Meaning}}</li>
{{- end}}
</ul>
{{- with .Unused}}
<p>{{.}}</p>
{{- end}}
{{- if .Command}}
<h2>Reproduce</h2>
<pre>{{.Command}}</pre>
<p>From the root of the repository. Inputs: <code>{{.Digest}}</code>.</p>
{{- end}}
{{- range .Services}}
<h2 id="{{.Name}}">{{.Name}}</h2>
{{- range .Problems}}
<p class="problem"><strong>Cannot be rolled out:</strong> {{.}}</p>
{{- end}}
{{- if .Rows}}
<table>
<thead><tr><th scope="col">Phase</th><th scope="col">Wave</th><th scope="col">Kind</th><th scope="col">Resource name</th><th scope="col">Purpose</th></tr></thead>
<tbody>
{{- range .Rows}}
<tr><td>{{.Phase}}</td><td class="wave">{{.Wave}}</td><td>{{.Kind}}</td><td><code>{{.Name}}</code></td><td>{{.Purpose}}</td></tr>
{{- end}}
</tbody>
</table>
{{- end}}
{{- with .Remark}}
<p>({{.}})</p>
{{- end}}
{{- with .LeftOut}}
<p>{{.}}</p>
{{- end}}
{{- with .Why}}
<h3>Why this order</h3>
<ul>
{{- range .}}
<li>{{.}}</li>
{{- end}}
</ul>
{{- end}}
{{- end}}
{{- with .Pattern}}
<h2>Cross-service pattern</h2>
<table>
<thead><tr><th scope="col">Wave bucket</th><th scope="col">Purpose</th><th scope="col">Who has it</th></tr></thead>
<tbody>
{{- range .}}
<tr><td class="wave">{{.Bucket}}</td><td>{{.Purpose}}</td><td>{{.Who}}{{range .Marks}} <sup>{{.}}</sup>{{end}}</td></tr>
{{- end}}
</tbody>
</table>
{{- end}}
{{- with .Notes}}
<ol>
{{- range .}}
<li>{{.}}</li>
{{- end}}
</ol>
{{- end}}
</body>
</html>
`

type htmlRow struct{ Phase, Wave, Kind, Name, Purpose string }

type htmlService struct {
	Name, Remark, LeftOut string
	Problems              []string
	Rows                  []htmlRow
	Why                   []template.HTML
}

type htmlBucket struct {
	Bucket, Purpose, Who string
	Marks                []int
}

type htmlPhase struct{ Name, Meaning string }

// HTML is the page as a document of its own, without scripts or links.
func (p *Page) HTML() (string, error) {
	data := struct {
		Title, Intro, HowTo, Unused, Command, Digest string
		Phases                                       []htmlPhase
		Services                                     []htmlService
		Pattern                                      []htmlBucket
		Notes                                        []string
	}{Title: pageTitle, Intro: introOne, HowTo: howTo, Unused: p.unused(), Command: p.command, Digest: p.digest}
	for _, phase := range p.phases {
		data.Phases = append(data.Phases, htmlPhase{phase, phaseMeaning(phase)})
	}
	for _, s := range p.Services {
		hs := htmlService{Name: s.Name, Remark: s.remark, LeftOut: s.leftOutSentence(), Problems: s.problems}
		for _, m := range s.table {
			hs.Rows = append(hs.Rows, htmlRow{m.phase(), minus(m.wave()), m.kind, m.name, m.purpose})
		}
		for _, line := range s.why {
			hs.Why = append(hs.Why, codeSpans(line))
		}
		data.Services = append(data.Services, hs)
	}
	marks, notes := p.footnotes()
	data.Notes = notes
	for i, b := range p.Pattern {
		data.Pattern = append(data.Pattern, htmlBucket{typeset(b.Bucket), b.Purpose, b.Who, marks[i]})
	}
	t, err := template.New("waves").Parse(htmlPage)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return "", err
	}
	return b.String(), nil
}

// codeSpans escapes a sentence and marks what stands between backquotes.
func codeSpans(line string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(line, "`") {
		part = template.HTMLEscapeString(part)
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	//nolint:gosec // every part is escaped above
	return template.HTML(b.String())
}
