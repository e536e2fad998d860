// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/wavetrain/wavetrain/internal/diff"
)

// HTML writes what happens as a page that needs nothing from elsewhere.
func HTML(apps []*App, unchanged int) (string, error) {
	in := map[*App]map[string]int{}
	for _, a := range apps {
		_, in[a] = a.common()
	}
	page, err := template.New("page").Funcs(template.FuncMap{
		"path": func(p string) string {
			if p == "" {
				return "(the whole object)"
			}
			return p
		},
		"value": value, "gate": Gate.line, "need": Need.line, "acting": acting, "unchanged": unchangedIn, "head": (*App).head,
		"common": func(a *App) []string {
			lines, _ := a.common()
			for i, text := range lines {
				lines[i] = fmt.Sprintf("%d objects: %s", in[a][text], text)
			}
			return lines
		},
		"own":    func(a *App, s Step) []diff.Change { return s.own(in[a]) },
		"remark": Step.remark, "serious": serious, "times": Expected.times, "title": Group.title, "span": span, "share": share100, "join": strings.Join,
	}).Parse(pageText)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = page.Execute(&b, map[string]any{"Apps": byWeight(apps), "Summary": Summary(apps, unchanged)})
	return b.String(), err
}

// share100 is the width of a part of a bar, in percent.
func share100(part, whole time.Duration) template.CSS {
	if whole <= 0 {
		return "width:0"
	}
	// A number and a unit: nothing that comes from a manifest.
	return template.CSS(fmt.Sprintf("width:%.2f%%", 100*part.Seconds()/whole.Seconds())) //nolint:gosec // as above
}

const pageText = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Wavetrain: plan</title>
<style>
:root { color-scheme: light dark; --text: #1b1f24; --faint: #5a6470; --page: #fff; --card: #f6f8fa; --line: #d9dee4; --add: #1a7f37; --mod: #8a5a00; --del: #b3261e; --hook: #3b5bdb }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ed; --faint: #9aa5b1; --page: #14171b; --card: #1d2127; --line: #343b44; --add: #57c47a; --mod: #e0b252; --del: #ff8a80; --hook: #91a7ff } }
* { box-sizing: border-box }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 68rem; padding: 0 1rem; color: var(--text); background: var(--page) }
h1 { font-size: 1.35rem; line-height: 1.35 } h2 { font-size: 1.15rem; margin: 0 } h3 { font-size: .95rem; margin: 1.1rem 0 .35rem; color: var(--faint) }
nav { display: flex; flex-wrap: wrap; gap: .3rem .9rem; margin: 1rem 0 2rem } a { color: var(--hook) }
section { border: 1px solid var(--line); border-radius: 8px; background: var(--card); padding: 1rem 1.2rem; margin: 1rem 0 }
small, .faint { color: var(--faint); font-weight: 400 }
.create { color: var(--add) } .update, .warning { color: var(--mod) } .delete, .replace, .error { color: var(--del) } .hook { color: var(--hook) } .keep { color: var(--faint) }
.step { display: grid; grid-template-columns: 4.5rem 1fr; gap: .6rem; padding: .1rem 0 } .step b { font-weight: 600 }
table { border-collapse: collapse; width: 100%; margin: .2rem 0 .5rem; font: .83rem/1.45 ui-monospace, monospace; table-layout: fixed }
td { padding: .1rem .6rem .1rem 0; vertical-align: top; overflow-wrap: anywhere } td:first-child { width: 44%; color: var(--faint) }
.was { color: var(--del); text-decoration: line-through } .now { color: var(--add) }
.bar { display: flex; height: .6rem; border-radius: 3px; overflow: hidden; background: var(--line); margin: .4rem 0 } .bar span { background: var(--hook); border-right: 1px solid var(--card) }
.fields { font: .83rem/1.45 ui-monospace, monospace } ul { margin: .2rem 0; padding-left: 1.2rem } p { margin: .35rem 0 } details > summary { cursor: pointer; color: var(--faint) }
</style></head><body>
<h1>{{.Summary}}</h1>
{{if gt (len .Apps) 1}}<nav>{{range .Apps}}<a href="#app-{{.Name}}">{{.Name}}</a>{{end}}</nav>{{end}}
{{range .Apps}}{{$app := .}}<section id="app-{{.Name}}"><h2>{{.Name}} <small>{{head .}}</small></h2>
{{with .Refused}}<p class="error">A sync would not run now: {{.}}</p>{{end}}
{{with .Deletes}}<p class="delete"><b>Deletes</b> {{join . ", "}}</p>{{end}}
{{with .Replaces}}<p class="replace"><b>Replaces</b> {{join . ", "}}</p>{{end}}
{{range serious .}}<p class="{{.Severity}}"><b>{{.Severity}}</b> {{.Message}} <code>{{.Code}}</code>{{with .Hint}}<br><span class="faint">{{.}}</span>{{end}}</p>{{end}}
{{with .Restarts}}<p><b>Restarts</b> {{join . ", "}}</p>{{end}}
{{with .Expected}}{{if .Gates}}<h3>Waits: {{times .}}</h3>{{$all := .Took.Duration}}{{if $all}}<div class="bar">{{range .Critical}}<span style="{{share .Took.Duration $all}}" title="{{.Phase}}/{{.Wave}} {{.Object}} {{span .Took.Duration}}"></span>{{end}}</div>{{end}}
<ul>{{range .Gates}}<li>{{gate .}}</li>{{end}}</ul>{{end}}{{end}}
{{range .Spec}}<table><tr><td>Application {{path .Path}}</td><td><span class="was">{{value .Live}}</span> <span class="now">{{value .Desired}}</span></td></tr></table>{{end}}
{{with .Needs}}<ul>{{range .}}<li>{{need .}}</li>{{end}}</ul>{{end}}
{{with common .}}<h3>In many objects</h3><ul>{{range .}}<li class="fields">{{.}}</li>{{end}}</ul>{{end}}
{{range .Groups}}{{$same := unchanged .}}{{if not (acting .)}}<h3>{{title .}} · {{$same}} unchanged</h3>{{else}}<h3>{{title .}}</h3>
{{range acting .}}<div class="step"><b class="{{.Action}}">{{.Action}}</b><div>{{.Object}}{{with remark .}} <span class="faint">{{.}}</span>{{end}}
{{with own $app .}}<table>{{range .}}<tr><td>{{path .Path}}</td><td><span class="was">{{value .Live}}</span> <span class="now">{{value .Desired}}</span></td></tr>{{end}}</table>{{end}}</div></div>
{{end}}{{if $same}}<p class="faint">and {{$same}} unchanged</p>{{end}}{{end}}{{end}}
{{with .LeftOut}}<details><summary>{{len .}} objects take no part</summary><ul>{{range .}}<li>{{.Object}}: {{.Reason}}</li>{{end}}</ul></details>{{end}}
</section>
{{end}}
</body></html>
`
