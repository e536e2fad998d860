// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

//go:build differential

package render_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render"
)

// The command line tools of the versions that are linked; "make differential"
// builds them.
var (
	helmTool      = flag.String("helm", "../../tools/bin/helm", "helm to compare with")
	kustomizeTool = flag.String("kustomize", "../../tools/bin/kustomize", "kustomize to compare with")
)

const kubeVersion = "v1.37.2"

// failer is what plain tests and property tests have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// tool runs a tool and returns the objects that it prints, or its error.
func tool(t failer, name string, args ...string) ([]manifest.Object, error) {
	t.Helper()
	cmd := exec.Command(name, args...)
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	cmd.Env = []string{"HOME=/nonexistent", "PATH=/nonexistent"}
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, words.String())
	}
	objects, _, err := manifest.DecodeTolerant("tool", out.Bytes())
	if err != nil {
		t.Fatalf("%s %q prints what cannot be read: %v", name, args, err)
	}
	return objects, nil
}

// normal is a set of objects as sorted JSON.
func normal(t failer, objects []manifest.Object) []string {
	t.Helper()
	list := make([]string, len(objects))
	for i, o := range objects {
		data, err := json.MarshalIndent(o.Object, "", " ")
		if err != nil {
			t.Fatalf("%v", err)
		}
		list[i] = string(data)
	}
	slices.Sort(list)
	return list
}

// agree compares a rendering with a tool's: both fail, or both give the same.
func agree(t failer, got render.Result, gotErr error, want []manifest.Object, wantErr error) {
	t.Helper()
	switch {
	case (gotErr == nil) != (wantErr == nil):
		t.Fatalf("here: %v\ntool: %v", gotErr, wantErr)
	case gotErr == nil:
		if diff := cmp.Diff(normal(t, want), normal(t, got.Objects)); diff != "" {
			t.Fatalf("-tool +here\n%s", diff)
		}
	}
}

func TestExamplesAreRenderedAsByHelm(t *testing.T) {
	root := "../../examples/ask"
	values, err := filepath.Glob(root + "/environments/values-*.yaml")
	if err != nil || len(values) == 0 {
		t.Fatal("no environments", err)
	}
	charts, err := os.ReadDir(root + "/charts")
	if err != nil {
		t.Fatal(err)
	}
	for _, chart := range charts {
		if !chart.IsDir() {
			continue
		}
		for _, file := range values {
			t.Run(chart.Name()+"/"+filepath.Base(file), func(t *testing.T) {
				want, wantErr := tool(t, *helmTool, "template", "r", root+"/charts/"+chart.Name(), "-f", file, "--namespace", "ns", "--include-crds", "--kube-version", kubeVersion)
				got, gotErr := render.Render(t.Context(), render.Source{
					Files: os.DirFS(root), Path: "charts/" + chart.Name(),
					Helm: &v1alpha1.ApplicationSourceHelm{ReleaseName: "r", ValueFiles: []string{"/environments/" + filepath.Base(file)}},
				}, render.Target{AppName: "r", Namespace: "ns", KubeVersion: kubeVersion})
				agree(t, got, gotErr, want, wantErr)
			})
		}
	}
}

// write puts files into a new directory.
func write(t *rapid.T, root string, files map[string]string) string {
	dir, err := os.MkdirTemp(root, "case")
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatalf("%v", err)
		}
		if err := os.WriteFile(file, []byte(files[name]), 0o600); err != nil {
			t.Fatalf("%v", err)
		}
	}
	return dir
}

// Pieces of which charts are made: what charts in the field are made of.
var fragments = []string{
	"data: {name: {{ .Release.Name }}, ns: {{ .Release.Namespace }}, chart: \"{{ .Chart.Name }}-{{ .Chart.Version }}\"}\n",
	"data:\n  {{- range $k, $v := .Values.map }}\n  {{ $k }}: {{ $v | quote }}\n  {{- end }}\n",
	"data: {list: {{ .Values.list | toJson | quote }}, first: {{ first .Values.list | default \"none\" | quote }}}\n",
	"{{- with .Values.labels }}\ndata: {{- toYaml . | nindent 2 }}\n{{- end }}\n",
	"data:\n  text: |\n    {{- .Values.text | nindent 4 }}\n",
	"data: {helper: {{ include \"lib.name\" . | quote }}}\n",
	"data: {n: {{ .Values.n | quote }}, sum: {{ add .Values.n 1 | quote }}, f: {{ mulf .Values.n 1.5 | quote }}}\n",
	"data: {caps: {{ .Capabilities.APIVersions.Has \"batch/v1\" | quote }}, minor: {{ .Capabilities.KubeVersion.Minor | quote }}, v: \"{{ .Capabilities.KubeVersion }}\"}\n",
	"data: {global: {{ .Values.global.team | default \"none\" | quote }}}\n",
	"{{- if .Values.on }}\ndata: {on: \"yes\"}\n{{- else }}\ndata: {on: \"no\"}\n{{- end }}\n",
	"data: {tpl: {{ tpl .Values.template . | quote }}, sha: {{ .Values.text | sha256sum }}}\n",
	"data: {dup: a, dup: b}\n",
	"data: {yaml11: {{ .Values.odd }}, octal: 0777, on: on, float: 1.0, big: 12345678901}\n",
	"data: {file: {{ .Files.Get \"extra.txt\" | quote }}, lookup: {{ len (lookup \"v1\" \"Pod\" \"\" \"\") | quote }}}\n",
	"data: {must: {{ required \"text is needed\" .Values.text | quote }}}\n",
	"metadata2: {{ .Template.Name | base | quote }}\n",
}

// chartOf makes a chart with subcharts.
func chartOf(t *rapid.T, prefix, name string, depth int, files map[string]string) {
	metadata := "apiVersion: v2\nname: " + name + "\nversion: 0.1.0\n"
	if depth > 0 {
		metadata += "dependencies:\n"
		for i := range rapid.IntRange(1, 2).Draw(t, "subcharts") {
			sub := fmt.Sprintf("%s-sub%d", name, i)
			metadata += "  - {name: " + sub + ", version: 0.1.0"
			metadata += rapid.SampledFrom([]string{"", ", alias: other" + fmt.Sprint(i), ", condition: " + sub + ".enabled", ", tags: [extra]", ", import-values: [exported]"}).Draw(t, "how") + "}\n"
			chartOf(t, prefix+"charts/"+sub+"/", sub, depth-1, files)
		}
	}
	files[prefix+"Chart.yaml"] = metadata
	files[prefix+"values.yaml"] = valuesOf(t, "chart") + "exports: {exported: {fromSub: " + name + "}}\n"
	files[prefix+"extra.txt"] = "extra of " + name
	files[prefix+"templates/_helpers.tpl"] = `{{ define "lib.name" }}{{ .Chart.Name }}-{{ .Release.Name | trunc 5 }}{{ end }}`
	files[prefix+"templates/NOTES.txt"] = "notes of {{ .Chart.Name }}"
	for i := range rapid.IntRange(1, 3).Draw(t, "templates") {
		var text strings.Builder
		for j := range rapid.IntRange(1, 2).Draw(t, "documents") {
			hook := rapid.SampledFrom([]string{"", "", "", ", annotations: {helm.sh/hook: pre-install}", ", annotations: {helm.sh/hook: test}", ", annotations: {helm.sh/hook: nonsense}"}).Draw(t, "hook")
			fmt.Fprintf(&text, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%d-%d%s}\n%s", name, i, j, hook, rapid.SampledFrom(fragments).Draw(t, "fragment"))
		}
		files[fmt.Sprintf("%stemplates/t%d.yaml", prefix, i)] = text.String()
	}
	if rapid.Bool().Draw(t, "crd") {
		files[prefix+"crds/crd.yaml"] = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + name + ".example.test}\n"
	}
}

func valuesOf(t *rapid.T, label string) string {
	values := map[string]any{}
	set := func(key string, choices ...any) {
		if v := rapid.SampledFrom(append(choices, "unset")).Draw(t, label+" "+key); v != "unset" {
			values[key] = v
		}
	}
	set("map", map[string]any{"a": "1", "b": 2}, map[string]any{"b": nil, "c": true})
	set("list", []any{"x", "y"}, []any{})
	set("labels", map[string]any{"team": "blue"}, nil)
	set("n", 1, 7, 10000000)
	set("on", true, false)
	set("odd", "plain", 1.5)
	set("global", map[string]any{"team": "green"})
	set("tags", map[string]any{"extra": false}, map[string]any{"extra": true})
	values["text"] = rapid.SampledFrom([]string{"one line", "two\nlines", "a: b # no comment", ""}).Draw(t, label+" text")
	values["template"] = rapid.SampledFrom([]string{"{{ .Release.Name }}", "plain", "{{ .Values.text }}"}).Draw(t, label+" template")
	data, err := json.Marshal(values)
	if err != nil {
		t.Fatalf("%v", err)
	}
	// JSON is YAML; its braces would end the file for what is appended.
	var b strings.Builder
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		t.Fatalf("%v", err)
	}
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		fmt.Fprintf(&b, "%s: %s\n", key, raw[key])
	}
	return b.String()
}

func TestChartsAreRenderedAsByHelm(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		files := map[string]string{"values-1.yaml": valuesOf(r, "one"), "values-2.yaml": valuesOf(r, "two")}
		chartOf(r, "chart/", "main", rapid.IntRange(0, 2).Draw(r, "depth"), files)
		dir := write(r, root, files)
		defer func() { _ = os.RemoveAll(dir) }()
		args := []string{"template", "rel", dir + "/chart", "-f", dir + "/values-1.yaml", "-f", dir + "/values-2.yaml", "--namespace", "ns", "--kube-version", kubeVersion, "--set", "list={p,q}", "--set-string", "n=5"}
		options := &v1alpha1.ApplicationSourceHelm{
			ReleaseName: "rel", ValueFiles: []string{"../values-1.yaml", "../values-2.yaml"}, SkipCrds: rapid.Bool().Draw(r, "skipCrds"), SkipTests: rapid.Bool().Draw(r, "skipTests"),
			Parameters: []v1alpha1.HelmParameter{{Name: "list", Value: "{p,q}"}, {Name: "n", Value: "5", ForceString: true}},
		}
		if !options.SkipCrds {
			args = append(args, "--include-crds")
		}
		if options.SkipTests {
			args = append(args, "--skip-tests")
		}
		want, wantErr := tool(r, *helmTool, args...)
		got, gotErr := render.Render(t.Context(), render.Source{Files: os.DirFS(dir), Path: "chart", Helm: options}, render.Target{AppName: "rel", Namespace: "ns", KubeVersion: kubeVersion})
		agree(r, got, gotErr, want, wantErr)
	})
}

// Fields of kustomizations, each with the files that it needs.
var fields = []struct {
	text  string
	files map[string]string
}{
	{"namePrefix: pre-\n", nil},
	{"nameSuffix: -post\n", nil},
	{"namespace: other\n", nil},
	{"labels: [{pairs: {a: b}, includeSelectors: true}]\n", nil},
	{"commonAnnotations: {note: text}\n", nil},
	{"images: [{name: app, newName: registry.example.test/app, newTag: '2'}]\n", nil},
	{"replicas: [{name: web, count: 4}]\n", nil},
	{"configMapGenerator: [{name: gen, literals: [a=b], files: [file.txt]}]\n", map[string]string{"file.txt": "hello"}},
	{"secretGenerator: [{name: sec, literals: [a=b]}]\ngeneratorOptions: {disableNameSuffixHash: true}\n", nil},
	{"patches: [{path: patch.yaml}]\n", map[string]string{"patch.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {priorityClassName: high}}}\n"}},
	{"patches: [{target: {kind: Deployment}, patch: '[{op: replace, path: /spec/replicas, value: 7}]'}]\n", nil},
	{"components: [../component]\n", map[string]string{"../component/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nlabels: [{pairs: {component: on}}]\n"}},
	{"replacements: [{source: {kind: Deployment, name: web, fieldPath: metadata.name}, targets: [{select: {kind: Service}, fieldPaths: [spec.selector.app]}]}]\n", nil},
	{"sortOptions: {order: fifo}\n", nil},
	{"buildMetadata: [managedByLabel]\n", nil},
}

const base = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "app:1", envFrom: [{configMapRef: {name: gen}}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, annotations: {anchor: &x "1", again: *x}}
spec: {selector: {app: web}, ports: [{port: 80}]}
`

func TestKustomizationsAreBuiltAsByKustomize(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		files := map[string]string{"base/kustomization.yaml": "resources: [all.yaml]\n", "base/all.yaml": base}
		text, seen := "resources: [../base]\n", map[string]bool{}
		for range rapid.IntRange(1, 4).Draw(r, "fields") {
			field := rapid.SampledFrom(fields).Draw(r, "field")
			if key, _, _ := strings.Cut(field.text, ":"); seen[key] {
				continue
			} else {
				seen[key] = true
			}
			text += field.text
			for name, content := range field.files {
				files[filepath.Join("overlay", name)] = content
			}
		}
		files["overlay/kustomization.yaml"] = text
		dir := write(r, root, files)
		defer func() { _ = os.RemoveAll(dir) }()
		want, wantErr := tool(r, *kustomizeTool, "build", dir+"/overlay")
		got, gotErr := render.Render(t.Context(), render.Source{Files: os.DirFS(dir), Path: "overlay"}, render.Target{AppName: "app"})
		agree(r, got, gotErr, want, wantErr)
	})
}
