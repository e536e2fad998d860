// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/render"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const askDir = "../../examples/ask"

// askArgs are the four services of the example, as Applications.
func askArgs() []string {
	return []string{"apps/assistant-service.yaml", "apps/knowledge-management-service.yaml", "apps/core-service.yaml", "apps/frontend.yaml"}
}

// wavesIn runs "wavetrain waves" in a directory.
func wavesIn(t testing.TB, dir, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	if t, ok := t.(*testing.T); ok {
		t.Chdir(dir)
	}
	var out, errs bytes.Buffer
	s := Streams{In: strings.NewReader(stdin), Out: &out, Err: &errs, Env: func(string) string { return "" }}
	cmd := newWavesCmd(s)
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	if err == nil {
		return out.String(), errs.String(), exitOK
	}
	code = exitFailed
	if coded, ok := errors.AsType[*exitError](err); ok {
		code = coded.code
	}
	return out.String(), errs.String() + err.Error(), code
}

var digestOnPage = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

// The page that the first user keeps by hand, in every format.
func TestWavesGolden(t *testing.T) {
	for format, ext := range map[string]string{"markdown": "md", "html": "html", "json": "json", "table": "txt"} {
		t.Run(format, func(t *testing.T) {
			golden, err := filepath.Abs("testdata/waves/ask." + ext)
			if err != nil {
				t.Fatal(err)
			}
			out, stderr, code := wavesIn(t, askDir, "", append(askArgs(), "-o", format)...)
			if code != exitOK || stderr != "" {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			// The digest changes with every comment in a chart.
			got := digestOnPage.ReplaceAllString(out, "sha256:…")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// jsonPage is as much of the JSON page as the tests look at.
type jsonPage struct {
	Services []struct {
		Name string    `json:"name"`
		Rows []jsonRow `json:"rows"`
	} `json:"services"`
	Pattern []struct {
		Bucket   string   `json:"bucket"`
		Services []string `json:"services"`
	} `json:"pattern"`
}

type jsonRow struct {
	Phase, Kind, Name, Purpose, PurposeFrom, File string
	Wave                                          int
	Hook                                          []string
}

// handRow is a row of the page kept by hand.
type handRow struct {
	Phase, Purpose string
	Wave           int
	Kinds, Names   []string
}

func (h handRow) holds(r jsonRow) bool {
	return h.Phase == r.Phase && h.Wave == r.Wave && slices.Contains(h.Kinds, r.Kind) && slices.Contains(h.Names, r.Name)
}

// Every row kept by hand is a row of the page, and nothing else is on it.
func TestWavesShowsWhatThePageByHandShows(t *testing.T) {
	data, err := os.ReadFile("../report/testdata/ask-rows.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var hand struct {
		Services []struct {
			Name string
			Rows []handRow
		}
	}
	if err := yaml.Unmarshal(data, &hand); err != nil {
		t.Fatal(err)
	}
	out, stderr, code := wavesIn(t, askDir, "", append(askArgs(), "-o", "json")...)
	if code != exitOK {
		t.Fatal(stderr)
	}
	var page jsonPage
	if err := json.Unmarshal([]byte(out), &page); err != nil {
		t.Fatal(err)
	}
	tables := markdownTables(t)
	for i, want := range hand.Services {
		got := page.Services[i]
		if got.Name != want.Name {
			t.Fatalf("service %d: want %s, got %s", i, want.Name, got.Name)
		}
		found := make([]int, len(want.Rows))
		for _, r := range got.Rows {
			n := slices.IndexFunc(want.Rows, func(h handRow) bool { return h.holds(r) })
			if n < 0 {
				t.Errorf("%s: no row by hand for %s %d %s/%s", want.Name, r.Phase, r.Wave, r.Kind, r.Name)
				continue
			}
			found[n]++
			if p := want.Rows[n].Purpose; p != "" && p != r.Purpose {
				t.Errorf("%s: %s/%s: want purpose %q, got %q", want.Name, r.Kind, r.Name, p, r.Purpose)
			}
			if r.Purpose == "" || r.PurposeFrom == "" || r.File == "" {
				t.Errorf("%s: %s/%s: incomplete row %+v", want.Name, r.Kind, r.Name, r)
			}
		}
		for n, count := range found {
			if count < len(want.Rows[n].Names) {
				t.Errorf("%s: row %+v has only %d objects", want.Name, want.Rows[n], count)
			}
		}
		sameRows(t, want.Name, want.Rows, tables[want.Name])
	}
}

// markdownTables returns the cells of each service's table.
func markdownTables(t *testing.T) map[string][][]string {
	t.Helper()
	out, stderr, code := wavesIn(t, ".", "", append(askArgs(), "-o", "markdown")...)
	if code != exitOK {
		t.Fatal(stderr)
	}
	tables := map[string][][]string{}
	service := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "## "); ok {
			service = name
		}
		if !strings.HasPrefix(line, "| PreSync") && !strings.HasPrefix(line, "| Sync") && !strings.HasPrefix(line, "| Delete-only") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		tables[service] = append(tables[service], cells)
	}
	return tables
}

// sameRows compares the rows of the page with those kept by hand: phase, wave,
// kinds, and how many names.
func sameRows(t *testing.T, service string, want []handRow, got [][]string) {
	t.Helper()
	short := strings.NewReplacer("ServiceAccount", "SA", "PodDisruptionBudget", "PDB", "HorizontalPodAutoscaler", "HPA")
	describe := func(phase, wave string, kinds []string) string {
		for i := range kinds {
			kinds[i] = short.Replace(kinds[i])
		}
		slices.Sort(kinds)
		return phase + " " + wave + " " + strings.Join(kinds, "/")
	}
	var wanted, shown []string
	for _, r := range want {
		wanted = append(wanted, describe(r.Phase, strings.Replace(fmt.Sprint(r.Wave), "-", "−", 1), slices.Clone(r.Kinds)))
	}
	for _, cells := range got {
		kinds := strings.Split(strings.ReplaceAll(cells[2], " ", ""), "/")
		shown = append(shown, describe(cells[0], cells[1], kinds))
	}
	slices.Sort(wanted)
	slices.Sort(shown)
	if diff := cmp.Diff(wanted, shown); diff != "" {
		t.Errorf("%s: rows differ\n-want +got\n%s", service, diff)
	}
}

func TestWavesOfChartEqualThoseOfItsApplication(t *testing.T) {
	app, _, code := wavesIn(t, askDir, "", "apps/core-service.yaml", "-n", "ask")
	chart, stderr, code2 := wavesIn(t, ".", "", "charts/core-service", "-f", "environments/values-mod-auh1-dev-ask.yaml", "-n", "ask")
	if code != exitOK || code2 != exitOK {
		t.Fatal(stderr)
	}
	if diff := cmp.Diff(app, chart); diff != "" {
		t.Error(diff)
	}
}

func TestWavesOfPipedManifests(t *testing.T) {
	result, err := render.Render(t.Context(), render.Source{
		Files: os.DirFS(askDir), Path: "charts/assistant-service",
		Helm: &v1alpha1.ApplicationSourceHelm{ValueFiles: []string{"/environments/values-mod-auh1-dev-ask.yaml"}},
	}, render.Target{AppName: "assistant-service", Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	var piped strings.Builder
	for _, o := range result.Objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&piped, "---\n# Source: %s/templates/x.yaml\n%s\n", strings.Replace(o.Provenance.Chart, "/", "/charts/", 1), text)
	}
	want, _, _ := wavesIn(t, askDir, "", "charts/assistant-service", "-f", "environments/values-mod-auh1-dev-ask.yaml")
	got, stderr, code := wavesIn(t, ".", piped.String(), "-")
	if code != exitOK {
		t.Fatal(stderr)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWavesCheck(t *testing.T) {
	page := filepath.Join(t.TempDir(), "WAVES.md")
	fresh, _, _ := wavesIn(t, askDir, "", "apps/frontend.yaml", "-o", "markdown")
	if err := os.WriteFile(page, []byte(fresh), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, stderr, code := wavesIn(t, ".", "", "apps/frontend.yaml", "--check", page); code != exitOK || out+stderr != "" {
		t.Errorf("a fresh page passes in silence, got %d %s%s", code, out, stderr)
	}
	// From elsewhere it is the same page.
	if out, stderr, code := wavesIn(t, "charts", "", "../apps/frontend.yaml", "--check", page); code != exitOK {
		t.Errorf("the directory must not matter, got %d %s%s", code, out, stderr)
	}
	if err := os.WriteFile(page, []byte(strings.Replace(fresh, "Next.js SSR app", "an old purpose", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	out, stderr, code := wavesIn(t, "..", "", "apps/frontend.yaml", "--check", page)
	if code != exitFailed || !strings.Contains(out, "-| Sync | 0 | Deployment | `frontend` | an old purpose |") || !strings.Contains(out, "+| Sync | 0 | Deployment | `frontend` | Next.js SSR app |") {
		t.Errorf("a stale page fails with its difference, got %d\n%s", code, out)
	}
	if !strings.Contains(stderr, "is stale") {
		t.Errorf("want a sentence on standard error, got %q", stderr)
	}
}

func TestWavesReproducesWithValues(t *testing.T) {
	out, stderr, code := wavesIn(t, askDir, "", "charts/frontend", "-f", "environments/values-mod-auh1-dev-ask.yaml", "--set", "a={1,2},b=$x", "--release", "web", "-o", "markdown")
	if code != exitOK {
		t.Fatal(stderr)
	}
	want := "wavetrain waves charts/frontend -f environments/values-mod-auh1-dev-ask.yaml --set 'a={1,2},b=$x' --release web -o markdown"
	if !strings.Contains(out, want) {
		t.Errorf("want %q in\n%s", want, out)
	}
	if !strings.Contains(out, "## web\n") {
		t.Error("the release names the service")
	}
}

func TestWavesErrors(t *testing.T) {
	repo := t.TempDir()
	for name, text := range map[string]string{
		".wavetrain.yaml":           "repository: https://example.com/here.git\n",
		"chart/Chart.yaml":          "apiVersion: v2\nname: chart\nversion: 1.0.0\n",
		"chart/templates/a.yaml":    "kind: {{ .Values.none.at }}\n",
		"plain/a.yaml":              "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"broken.yaml":               "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a: b\n",
		"elsewhere.yaml":            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: app}\nspec: {source: {repoURL: 'https://example.com/other', path: plain}}\n",
		"nopath.yaml":               "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: app}\nspec: {source: {repoURL: 'https://EXAMPLE.com/here', path: nowhere}}\n",
		"badconfig/.wavetrain.yaml": "repo: x\n",
		"badconfig/a.yaml":          "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
	} {
		file := filepath.Join(repo, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		reason string
		stdin  string
		args   []string
		code   int
		want   string
	}{
		"Missing":      {reason: "A path that is not there.", args: []string{"none"}, code: exitFailed, want: "none does not exist"},
		"Template":     {reason: "A chart that does not render, with its place.", args: []string{"chart"}, code: exitFailed, want: "chart/templates/a.yaml:1: nil pointer"},
		"Manifest":     {reason: "A broken manifest, with its place.", args: []string{"broken.yaml"}, code: exitFailed, want: "broken.yaml:4: invalid YAML"},
		"Stdin":        {reason: "A broken document, with its line in the stream.", stdin: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\nkind: x\n", args: []string{"-"}, code: exitFailed, want: "stdin:5: not a Kubernetes object: apiVersion is missing"},
		"OtherRepo":    {reason: "A source that is not here.", args: []string{"elsewhere.yaml"}, code: exitFailed, want: "https://example.com/other is not this repository (https://example.com/here.git)"},
		"NoPath":       {reason: "A path of the Application that is not there.", args: []string{"nopath.yaml"}, code: exitFailed, want: "Application app: nowhere: app path does not exist"},
		"Config":       {reason: "A misspelt key of the configuration.", args: []string{"badconfig"}, code: exitFailed, want: `badconfig/.wavetrain.yaml:1: unknown key "repo"`},
		"ValueFile":    {reason: "A value file that is not there.", args: []string{"chart", "-f", "none.yaml"}, code: exitFailed, want: "value file none.yaml does not exist"},
		"NoChart":      {reason: "Values for something that is no chart.", args: []string{"plain", "--set", "a=b"}, code: exitUsage, want: "plain is not a chart"},
		"Set":          {reason: "An assignment that is none.", args: []string{"chart", "--set", "a"}, code: exitUsage, want: "want name=value"},
		"Output":       {reason: "A format that does not exist.", args: []string{"plain", "-o", "pdf"}, code: exitUsage, want: `"pdf"`},
		"Release":      {reason: "One name for two services.", args: []string{"plain", "chart", "--release", "x"}, code: exitUsage, want: "--release"},
		"StdinTwice":   {reason: "Standard input ends once.", args: []string{"-", "-"}, code: exitUsage, want: "only once"},
		"CheckMissing": {reason: "A page that is not there.", args: []string{"plain", "--check", "none.md"}, code: exitFailed, want: "none.md"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, stderr, code := wavesIn(t, repo, tc.stdin, tc.args...)
			if code != tc.code || !strings.Contains(stderr, tc.want) {
				t.Errorf("%s\nwant code %d and %q, got %d: %s", tc.reason, tc.code, tc.want, code, stderr)
			}
		})
	}
}

func TestWavesTakesValueFilesFromAnywhere(t *testing.T) {
	values := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(values, []byte("image: {tag: from-elsewhere}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, stderr, code := wavesIn(t, askDir, "", "charts/frontend", "-f", "environments/values-mod-auh1-dev-ask.yaml", "-f", values, "-o", "markdown")
	if code != exitOK {
		t.Fatal(stderr)
	}
	if !strings.Contains(out, "-f "+values) {
		t.Errorf("a file outside the repository keeps its path:\n%s", out)
	}
}

func TestWavesOfOtherInputs(t *testing.T) {
	repo := t.TempDir()
	for name, text := range map[string]string{
		"k/kustomization.yaml":   "resources: [a.yaml]\nnamePrefix: pre-\n",
		"k/a.yaml":               "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"values/dev.yaml":        "name: from-ref\n",
		"chart/Chart.yaml":       "apiVersion: v2\nname: chart\nversion: 1.0.0\n",
		"chart/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Values.name }}-{{ .Values.env }}}\n",
		"apps.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: multi}\nspec:\n  destination: {namespace: ns}\n  sources:\n" +
			"  - {repoURL: x, path: chart, helm: {valueFiles: [$v/values/dev.yaml], parameters: [{name: env, value: $ARGOCD_APP_NAME}]}}\n  - {repoURL: x, ref: v}\n  - {repoURL: x, path: k}\n" +
			"---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: single}\nspec: {source: {repoURL: x, path: k}}\n",
	} {
		file := filepath.Join(repo, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		reason string
		args   []string
		want   []string
	}{
		"Kustomization": {reason: "A kustomization is built.", args: []string{"k"}, want: []string{"k: pre-a"}},
		"Applications":  {reason: "A file of Applications is one service each, with all its sources.", args: []string{"apps.yaml"}, want: []string{"multi: from-ref-multi", "multi: pre-a", "single: pre-a"}},
		"Values":        {reason: "Values of the command line come last.", args: []string{"chart", "-f", "values/dev.yaml", "--set", "env=a"}, want: []string{"chart: from-ref-a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, stderr, code := wavesIn(t, repo, "", append(tc.args, "-o", "json")...)
			if code != exitOK {
				t.Fatalf("%s\n%s", tc.reason, stderr)
			}
			var page jsonPage
			if err := json.Unmarshal([]byte(out), &page); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range page.Services {
				for _, r := range s.Rows {
					got = append(got, s.Name+": "+r.Name)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// The page must cost little more than the rendering it rests on.
func BenchmarkWavesAsk(b *testing.B) {
	args := make([]string, 0, 4)
	for _, a := range askArgs() {
		args = append(args, filepath.Join(askDir, a))
	}
	for b.Loop() {
		if _, stderr, code := wavesIn(b, ".", "", append(args, "-o", "markdown")...); code != exitOK {
			b.Fatal(stderr)
		}
	}
}

func BenchmarkRenderAsk(b *testing.B) {
	for b.Loop() {
		for _, name := range []string{"assistant-service", "knowledge-management-service", "core-service", "frontend"} {
			_, err := render.Render(b.Context(), render.Source{
				Files: os.DirFS(askDir), Path: "charts/" + name,
				Helm: &v1alpha1.ApplicationSourceHelm{ValueFiles: []string{"/environments/values-mod-auh1-dev-ask.yaml"}},
			}, render.Target{AppName: name, Namespace: "ask"})
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// Whatever --set is given, its assignments are the text between top-level commas.
func TestSetParametersSplitsLikeHelm(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   []string
	}{
		"Several": {reason: "Commas part assignments.", in: "a=1,b.c=2", want: []string{"a=1", "b.c=2"}},
		"List":    {reason: "Commas in a list do not.", in: "a={1,2},b=3", want: []string{"a={1,2}", "b=3"}},
		"Escaped": {reason: "Nor do escaped ones.", in: `a=1\,2,b=3`, want: []string{`a=1\,2`, "b=3"}},
		"Empty":   {reason: "A value may be empty.", in: "a=", want: []string{"a="}},
		"Equals":  {reason: "A value may hold an equals sign.", in: "a=b=c", want: []string{"a=b=c"}},
		"Dollar":  {reason: "A dollar sign survives the build variables.", in: "a=$HOME", want: []string{"a=$$HOME"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			parameters, err := setParameters(tc.in, false)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range parameters {
				got = append(got, p.Name+"="+p.Value)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}
