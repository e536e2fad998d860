// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/source"
)

func newRenderer(t *testing.T) *pipeline.Renderer {
	t.Helper()
	store, err := source.NewStore(source.Options{Dir: t.TempDir(), Env: gittest.Env(), RefsTTL: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	return pipeline.NewRenderer(store, nil)
}

func render(t *testing.T, r *pipeline.Renderer, req pipeline.Request) *pipeline.Desired {
	t.Helper()
	revisions, err := r.Resolve(t.Context(), req.Project, req.Sources)
	if err != nil {
		t.Fatal(err)
	}
	desired, err := r.Render(t.Context(), req, revisions)
	if err != nil {
		t.Fatal(err)
	}
	return desired
}

func objects(t *testing.T, d *pipeline.Desired) []manifest.Object {
	t.Helper()
	list, err := d.Objects()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func names(t *testing.T, d *pipeline.Desired) []string {
	t.Helper()
	var list []string
	for _, obj := range objects(t, d) {
		list = append(list, obj.GetName())
	}
	return list
}

const chart = "apiVersion: v2\nname: shop\nversion: 0.1.0\n"

func template(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {value: " + value + "}\n"
}

func TestRenderIsReusedWhileNothingItReadHasChanged(t *testing.T) {
	repo := gittest.New(t, map[string]string{
		"charts/shop/Chart.yaml":       chart,
		"charts/shop/templates/a.yaml": template("a", "{{ .Values.v | quote }}"),
		"env/dev.yaml":                 "v: one\n",
		"env/prod.yaml":                "v: prod\n",
		"other/b.yaml":                 template("b", "x"),
	})
	r := newRenderer(t)
	req := pipeline.Request{App: "shop", Name: "shop", Sources: []v1alpha1.ApplicationSource{{
		RepoURL: repo.URL, Path: "charts/shop", TargetRevision: "main",
		Helm: &v1alpha1.ApplicationSourceHelm{ValueFiles: []string{"../../env/dev.yaml"}},
	}}}
	first := render(t, r, req)
	if first.Reused {
		t.Fatal("the first rendering cannot be reused")
	}
	for _, c := range []struct {
		reason string
		change map[string]string
		reused bool
	}{
		{"a commit elsewhere changes nothing", map[string]string{"other/b.yaml": template("b", "y")}, true},
		{"another environment's values are not read", map[string]string{"env/prod.yaml": "v: two\n"}, true},
		{"the value file is read", map[string]string{"env/dev.yaml": "v: two\n"}, false},
		{"so is a template", map[string]string{"charts/shop/templates/a.yaml": template("renamed", "x")}, false},
		{"and a template that appears", map[string]string{"charts/shop/templates/c.yaml": template("c", "x")}, false},
	} {
		commit := repo.Commit(c.reason, c.change)
		got := render(t, r, req)
		if got.Reused != c.reused {
			t.Errorf("%s: reused = %v, want %v", c.reason, got.Reused, c.reused)
		}
		if got.Revisions[0] != commit {
			t.Errorf("%s: revision %s, want %s", c.reason, got.Revisions[0], commit)
		}
	}
	if got := render(t, r, req); got.Digest == first.Digest {
		t.Error("the digest does not tell the last rendering from the first")
	}
}

func TestRenderDependsOnTheRequest(t *testing.T) {
	repo := gittest.New(t, map[string]string{
		"charts/shop/Chart.yaml":       chart,
		"charts/shop/templates/a.yaml": template("a", "{{ .Values.revision | quote }}"),
	})
	r := newRenderer(t)
	req := pipeline.Request{App: "shop", Name: "shop", Sources: []v1alpha1.ApplicationSource{{
		RepoURL: repo.URL, Path: "charts/shop", TargetRevision: "main",
		Helm: &v1alpha1.ApplicationSourceHelm{Parameters: []v1alpha1.HelmParameter{{Name: "revision", Value: "$ARGOCD_APP_REVISION"}}},
	}}}
	render(t, r, req)
	repo.Commit("elsewhere", map[string]string{"x": "y"})
	if got := render(t, r, req); got.Reused {
		t.Error("a parameter takes the revision, so every commit counts")
	}
	other := req
	other.Namespace = "elsewhere"
	if got := render(t, r, other); got.Reused {
		t.Error("another namespace is another request")
	}
}

func TestSeveralSourcesAreConcatenatedAndLendTheirFiles(t *testing.T) {
	charts := gittest.New(t, map[string]string{
		"shop/Chart.yaml":       chart,
		"shop/templates/a.yaml": template("{{ .Values.name }}", "x"),
	})
	values := gittest.New(t, map[string]string{"dev/values.yaml": "name: from-ref\n", "extra/b.yaml": template("b", "x")})
	r := newRenderer(t)
	req := pipeline.Request{App: "shop", Name: "shop", Sources: []v1alpha1.ApplicationSource{
		{RepoURL: charts.URL, Path: "shop", Helm: &v1alpha1.ApplicationSourceHelm{ValueFiles: []string{"$env/dev/values.yaml"}}},
		{RepoURL: values.URL, Ref: "env"},
		{RepoURL: values.URL, Path: "extra"},
	}}
	got := render(t, r, req)
	if diff := cmp.Diff([]string{"from-ref", "b"}, names(t, got)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Helm", "", "Directory"}, got.Tools); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if objects(t, got)[1].Provenance.Source != 2 || objects(t, got)[1].Provenance.File != "extra/b.yaml" {
		t.Errorf("provenance %+v", objects(t, got)[1].Provenance)
	}
	values.Commit("rename", map[string]string{"dev/values.yaml": "name: renamed\n"})
	if got := render(t, r, req); got.Reused || names(t, got)[0] != "renamed" {
		t.Errorf("a change of the lent file is not seen: reused %v, %v", got.Reused, names(t, got))
	}
}

func TestWhatIsNotSupportedIsSaid(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "y"})
	r := newRenderer(t)
	_, err := r.Resolve(t.Context(), "default", []v1alpha1.ApplicationSource{{RepoURL: "https://charts.example.test", Chart: "redis", TargetRevision: "1.x"}})
	if err == nil || !strings.Contains(err.Error(), "redis") || !strings.Contains(err.Error(), "not supported") {
		t.Errorf("a chart of a Helm repository: %v", err)
	}
	_, err = r.Render(t.Context(), pipeline.Request{App: "a", Sources: []v1alpha1.ApplicationSource{{RepoURL: repo.URL, Path: ".", Plugin: &v1alpha1.ApplicationSourcePlugin{Name: "p"}}}}, []string{repo.Git("rev-parse", "HEAD")})
	if err == nil || !strings.Contains(err.Error(), "plugin") {
		t.Errorf("a plugin: %v", err)
	}
}
