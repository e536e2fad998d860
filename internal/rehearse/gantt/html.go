// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package gantt

import (
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/wavetrain/wavetrain/internal/rehearse"
	"github.com/wavetrain/wavetrain/internal/report/path"
)

// chart is a rollout as the page draws it.
type chart struct {
	rehearse.Rollout
	Whole    string
	Critical string
	Waves    []waveBar
}

// waveBar is a wave with its objects, in percent of the rollout's time.
type waveBar struct {
	Phase       string
	Wave        int
	Left, Width float64
	Took        string
	Open        bool
	Objects     []objectBar
}

type objectBar struct {
	Object, Outcome, Took string
	Left, Width           float64
	// Critical is true for what the whole rollout waited for.
	Critical bool
}

// HTML draws the rollouts along the time, with findings and what hangs below.
func HTML(r *rehearse.Result) (string, error) {
	page, err := template.New("page").Parse(pageText)
	if err != nil {
		return "", err
	}
	charts := make([]chart, len(r.Rollouts))
	for i, rollout := range r.Rollouts {
		charts[i] = chartOf(rollout)
	}
	var b strings.Builder
	err = page.Execute(&b, map[string]any{"Result": r, "Charts": charts})
	return b.String(), err
}

func chartOf(r rehearse.Rollout) chart {
	c := chart{Rollout: r, Whole: seconds(r.Took.Duration), Critical: Critical(r.Critical)}
	percent := func(d time.Duration) float64 {
		if r.Took.Duration <= 0 {
			return 0
		}
		return 100 * float64(d) / float64(r.Took.Duration)
	}
	for _, w := range r.Waves {
		wave := waveBar{
			Phase: w.Phase, Wave: w.Wave, Left: percent(w.Start.Duration), Width: max(percent(w.Took.Duration), 0.3),
			Took: seconds(w.Took.Duration), Open: w.Open,
		}
		for _, s := range r.Steps {
			if s.Phase != w.Phase || s.Wave != w.Wave {
				continue
			}
			critical := slices.ContainsFunc(r.Critical, func(l path.Link) bool { return l.Object == s.Object && l.Phase == s.Phase && l.Wave == s.Wave })
			wave.Objects = append(wave.Objects, objectBar{
				Object: s.Object, Outcome: s.Outcome, Took: seconds(s.Took.Duration), Critical: critical,
				Left: percent(s.Start.Duration), Width: max(percent(s.Took.Duration), 0.3),
			})
		}
		c.Waves = append(c.Waves, wave)
	}
	return c
}

const pageText = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Rehearsal</title>
<style>
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; color: #1b1f24; background: #fff; }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin: 2rem 0 .3rem }
.row { display: grid; grid-template-columns: 26rem 1fr 9rem; gap: .6rem; align-items: center }
.wave { font-weight: 600; background: #f6f8fa }
.row code { padding-left: 1.2rem }
.track { position: relative; height: 1rem }
.bar { position: absolute; top: .25rem; height: .5rem; border-radius: .25rem; background: #8fb9a1 }
.wave .bar { background: #57606a } .bar.critical { background: #2f7d4f } .bar.failed, .bar.open { background: #b3261e }
code { font-size: .85em } .error { color: #b3261e } .warning { color: #8a5a00 }
@media (prefers-color-scheme: dark) { body { background: #14171b; color: #e6e9ed } .wave { background: #1c2127 } }
</style></head><body>
<h1>Rehearsal: {{if .Result.Converged}}everything converged{{else}}not everything converged{{end}}</h1>
{{if .Result.Hung}}<h2>What hangs</h2><ul>{{range .Result.Hung}}{{$app := .App}}{{range .Text}}<li>{{$app}}: {{.}}</li>{{end}}{{end}}</ul>{{end}}
{{range .Charts}}<h2>{{.App}} {{.Rev}}, attempt {{.Attempt}}: {{.Whole}}</h2>
<p>{{.Message}}</p>
{{range .Waves}}<div class="row wave"><span>{{.Phase}} {{.Wave}}</span><span class="track"><span class="bar{{if .Open}} open{{end}}" style="left:{{printf "%.2f" .Left}}%;width:{{printf "%.2f" .Width}}%"></span></span><span>{{.Took}}{{if .Open}}, not done{{end}}</span></div>
{{range .Objects}}<div class="row"><code>{{.Object}}</code><span class="track"><span class="bar {{.Outcome}}{{if .Critical}} critical{{end}}" style="left:{{printf "%.2f" .Left}}%;width:{{printf "%.2f" .Width}}%"></span></span><span>{{.Took}} {{.Outcome}}</span></div>
{{end}}{{end}}{{if .Critical}}<p>Critical path: {{.Critical}}</p>{{end}}
{{end}}{{if .Result.Findings}}<h2>Findings</h2><ul>
{{range .Result.Findings}}<li class="{{.Severity}}">{{.Severity}} <code>{{.Code}}</code> {{.Message}}</li>
{{end}}</ul>{{end}}
{{if .Result.Unsettled}}<h2>What did not come in time</h2><ul>{{range .Result.Unsettled}}<li>{{.}}</li>{{end}}</ul>{{end}}
</body></html>
`
