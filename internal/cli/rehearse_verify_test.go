// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rehearse"
	"github.com/wavetrain/wavetrain/internal/render"
)

const rehearsedApplications = `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop}
spec: {project: default, destination: {namespace: shop}, source: {repoURL: https://git.example.com/a.git, path: chart}}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: blog}
spec: {project: default, destination: {namespace: shop}, source: {repoURL: https://git.example.com/a.git, path: blog}}
`

const rehearsedRepository = `
-- .wavetrain.yaml --
verify:
  ignore:
    - {code: unknown-field, match: "ConfigMap/*", reason: an old tool writes it}
  layout:
    - {path: "blog/*.yaml", only: [ConfigMap, Secret], reason: the blog is data}
-- chart/values.yaml --
image: shop
database: postgres://shop:dJx82kQpLm3v@db.example.com/shop
-- chart/templates/all.yaml --
{{/* migrations first */}}
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {argocd.argoproj.io/hook: PreSync}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: shop, envFrom: [{configMapRef: {name: schema}}]}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: seed, annotations: {argocd.argoproj.io/hook: PreSync, wavetrain.dev/verify-ignore: "missing-dependency: it tries again"}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: shop, envFrom: [{configMapRef: {name: schema}}]}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {A: "1"}
extra: {}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: schema}
data: {A: "1"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  selector: {matchLabels: {app: shop}}
  template: {metadata: {labels: {app: shop}}, spec: {containers: [{name: main, image: shop, envFrom: [{configMapRef: {name: posts}}]}]}}
-- blog/all.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {A: "2"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: posts}
data: {B: "1"}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: blog}
`

// The step verify of a rehearsal is the command: it sees Applications together, reads
// what the repository says, and names lines of templates.
func TestRehearsalVerifiesLikeTheCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	texts := map[string][]byte{}
	for _, f := range txtar.Parse([]byte(rehearsedRepository)).Files {
		texts[f.Name] = f.Data
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	decode := func(name string, text []byte) []manifest.Object {
		objects, err := manifest.Decode(name, text)
		if err != nil {
			t.Fatal(err)
		}
		return objects
	}
	rendered := map[string][]manifest.Object{
		"shop": decode("chart/templates/all.yaml", texts["chart/templates/all.yaml"][len("{{/* migrations first */}}\n"):]),
		"blog": decode("blog/all.yaml", texts["blog/all.yaml"]),
	}
	for i := range rendered["shop"] {
		rendered["shop"][i].Provenance.Line = 0
	}
	restless := render.Restless{Object: manifest.Key{Kind: "ConfigMap", Namespace: "shop", Name: "posts"}, Field: "data.B", Cause: "now"}
	var subjects []rehearse.Subject
	for _, written := range decode("app.yaml", []byte(rehearsedApplications)) {
		app, err := decodeApplication(written)
		if err != nil {
			t.Fatal(err)
		}
		p := plan.Build(plan.Input{App: "instance-" + app.Name, Namespace: "shop", Objects: rendered[app.Name]})
		s := rehearse.Subject{Label: app.Name, App: &app, Written: written, Plan: p, Objects: rendered[app.Name]}
		if app.Name == "blog" {
			// The controller's plan has the rendering's own words on it already.
			p.Findings = append(p.Findings, diag.Diagnostic{Code: render.CodeNondeterministic, Severity: diag.Warning, Subject: restless.Object, Field: restless.Field})
			s.Restless = []render.Restless{restless}
		}
		subjects = append(subjects, s)
	}
	found, err := verifyRehearsed(t.Context(), dir, subjects)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		if f.Severity != diag.Info {
			got = append(got, fmt.Sprintf("%s %s: %s %s at %s:%d", f.App, f.Severity, f.Code, f.Subject, f.File, f.Line))
		}
	}
	slices.Sort(got)
	want := []string{
		" error: layout ServiceAccount/blog at blog/all.yaml:11",
		"blog error: shared-resource ConfigMap/settings at blog/all.yaml:1",
		"blog warning: nondeterministic-render ConfigMap/posts at blog/all.yaml:6",
		"shop error: missing-dependency Job/migrate at chart/templates/all.yaml:3",
		"shop error: plaintext-secret  at chart/values.yaml:2",
		"shop error: shared-resource ConfigMap/settings at chart/templates/all.yaml:13",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
