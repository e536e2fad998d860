// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	rendering "github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/cache"
	"github.com/wavetrain/wavetrain/internal/render/worker"
	"github.com/wavetrain/wavetrain/internal/source"
)

func newStore(t *testing.T) *source.Store {
	t.Helper()
	store, err := source.NewStore(source.Options{Dir: t.TempDir(), Env: gittest.Env(), RefsTTL: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func newRenderer(t *testing.T) *pipeline.Renderer {
	t.Helper()
	return pipeline.NewRenderer(newStore(t), nil, pipeline.Rendering{})
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
	_, err := r.Render(t.Context(), pipeline.Request{App: "a", Sources: []v1alpha1.ApplicationSource{{RepoURL: repo.URL, Path: ".", Plugin: &v1alpha1.ApplicationSourcePlugin{Name: "p"}}}}, []string{repo.Git("rev-parse", "HEAD")})
	if err == nil || !strings.Contains(err.Error(), "--plugins") {
		t.Errorf("a plugin: %v", err)
	}
}

// A new definition in the cluster concerns only the charts that asked about it.
func TestOnlyTheQuestionsThatWereAskedCount(t *testing.T) {
	repo := gittest.New(t, map[string]string{
		"asks/Chart.yaml":        chart,
		"asks/templates/a.yaml":  template("a", `{{ .Capabilities.APIVersions.Has "example.test/v1" | quote }}`),
		"lists/Chart.yaml":       chart,
		"lists/templates/a.yaml": template("a", `{{ has "example.test/v1" .Capabilities.APIVersions | quote }}`),
		"quiet/Chart.yaml":       chart,
		"quiet/templates/a.yaml": template("a", `{{ .Capabilities.KubeVersion.Major | quote }}`),
	})
	r := newRenderer(t)
	request := func(dir string, apis ...string) pipeline.Request {
		return pipeline.Request{App: dir, Name: "shop", APIVersions: apis, Sources: []v1alpha1.ApplicationSource{{RepoURL: repo.URL, Path: dir, TargetRevision: "main"}}}
	}
	for _, c := range []struct {
		dir, added string
		reused     bool
	}{
		{"asks", "other.test/v1", true},
		{"asks", "example.test/v1", false},
		{"lists", "other.test/v1", false},
		{"lists", "example.test/v1", false},
		{"quiet", "other.test/v1", true},
		{"quiet", "example.test/v1", true},
	} {
		render(t, r, request(c.dir, "v1"))
		got := render(t, r, request(c.dir, "v1", c.added))
		if got.Reused != c.reused {
			t.Errorf("chart %s, the cluster begins to serve %s: reused %v, want %v", c.dir, c.added, got.Reused, c.reused)
		}
		if value := objects(t, got)[0].Object["data"].(map[string]any)["value"]; c.dir != "quiet" && value != strconv.FormatBool(c.added == "example.test/v1") {
			t.Errorf("chart %s was told %v with %s", c.dir, value, c.added)
		}
	}
}

func TestRenderingsAreSharedBetweenProcessesAndApplications(t *testing.T) {
	repo := gittest.New(t, map[string]string{
		"shop/Chart.yaml":       chart,
		"shop/templates/a.yaml": template("a", "{{ .Release.Name }}"),
		"plain/a.yaml":          template("a", "x"),
		"plain/sub/b.yaml":      template("b", "x"),
	})
	dir := t.TempDir()
	process := func() *pipeline.Renderer {
		kept, err := cache.Open(cache.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return pipeline.NewRenderer(newStore(t), nil, pipeline.Rendering{Cache: kept})
	}
	request := func(app, path string) pipeline.Request {
		return pipeline.Request{App: app, Name: app, Sources: []v1alpha1.ApplicationSource{{RepoURL: repo.URL, Path: path, TargetRevision: "main"}}}
	}
	first := render(t, process(), request("one", "plain"))
	if got := render(t, process(), request("one", "plain")); !got.Reused || got.Digest != first.Digest || names(t, got)[0] != "a" {
		t.Errorf("after a restart: %+v", got)
	}
	if got := render(t, process(), request("two", "plain")); !got.Reused {
		t.Error("another application of the same directory is rendered again")
	}
	render(t, process(), request("one", "shop"))
	if got := render(t, process(), request("two", "shop")); got.Reused {
		t.Error("a chart knows the name of its release")
	}
	anew := process()
	anew.RenderAnew("one")
	if got := render(t, anew, request("one", "plain")); got.Reused {
		t.Error("somebody asked to render it whatever is known")
	}
	if got := render(t, anew, request("one", "plain")); !got.Reused {
		t.Error("and only once")
	}
	repo.Commit("below", map[string]string{"plain/sub/b.yaml": template("b", "y")})
	if got := render(t, process(), request("one", "plain")); !got.Reused {
		t.Error("what lies in a directory that is not descended into does not count")
	}
	repo.Commit("beside", map[string]string{"plain/c.yaml": template("c", "y")})
	if got := render(t, process(), request("one", "plain")); got.Reused {
		t.Error("a new file counts")
	}
}

func TestABombIsNotTriedAtEveryLook(t *testing.T) {
	repo := gittest.New(t, map[string]string{"a/x.yaml": template("a", "x")})
	tried := 0
	r := pipeline.NewRenderer(newStore(t), nil, pipeline.Rendering{Render: func(context.Context, rendering.Source, rendering.Target) (rendering.Result, error) {
		tried++
		return rendering.Result{}, &worker.LimitError{App: "a", Path: "a", Limit: "memory"}
	}})
	req := pipeline.Request{App: "a", Name: "a", Sources: []v1alpha1.ApplicationSource{{RepoURL: repo.URL, Path: "a", TargetRevision: "main"}}}
	look := func(want int, why string) {
		t.Helper()
		revisions, err := r.Resolve(t.Context(), "default", req.Sources)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Render(t.Context(), req, revisions); err == nil || !strings.Contains(err.Error(), "limit on memory") {
			t.Errorf("%s: %v", why, err)
		}
		if tried != want {
			t.Errorf("%s: tried %d times, want %d", why, tried, want)
		}
	}
	look(1, "the first look")
	look(1, "the next look")
	r.RenderAnew("a")
	look(2, "somebody asks")
	repo.Commit("a change", map[string]string{"a/x.yaml": template("a", "y")})
	look(3, "the source changes")
}
