// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/packed"
	"github.com/wavetrain/wavetrain/internal/render/worker"
)

// The test binary is its own worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "render-worker" {
		if err := worker.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func newPool(t testing.TB, opts worker.Options) *worker.Pool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	opts.Command = []string{self, "render-worker"}
	pool := worker.NewPool(opts)
	t.Cleanup(pool.Close)
	return pool
}

// tree is a tree whose ids are its content, so that traces can be compared.
type tree struct{ fstest.MapFS }

func (t tree) ObjectID(name string) string {
	info, err := fs.Stat(t.MapFS, name)
	if err != nil {
		return ""
	}
	if info.IsDir() {
		return "directory " + name
	}
	return string(t.MapFS[name].Data)
}

func files(content map[string]string) tree {
	t := tree{fstest.MapFS{}}
	for name, data := range content {
		t.MapFS[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return t
}

func chart(templates map[string]string) tree {
	all := map[string]string{"chart/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\n"}
	for name, text := range templates {
		all["chart/"+name] = text
	}
	return files(all)
}

func unpack(t testing.TB, result render.Result) []manifest.Object {
	t.Helper()
	codec, err := packed.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := codec.Open(result.Packed, result.Count).Objects()
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

const config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n"

func named(name string) string { return strings.ReplaceAll(config, "NAME", name) }

func sources() map[string]render.Source {
	repo := files(map[string]string{
		"chart/Chart.yaml":                 "apiVersion: v2\nname: shop\nversion: 0.1.0\ndependencies: [{name: sub, version: 0.1.0}]\n",
		"chart/values.yaml":                "who: default\n",
		"chart/templates/_names.tpl":       `{{ define "name" }}{{ .Values.who }}-{{ .Release.Name }}{{ end }}`,
		"chart/templates/a.yaml":           named(`{{ include "name" . }}`) + "data: {v: {{ .Capabilities.APIVersions.Has \"apps/v1\" | quote }}}\n",
		"chart/charts/sub/Chart.yaml":      "apiVersion: v2\nname: sub\nversion: 0.1.0\n",
		"chart/charts/sub/templates/b.yml": named("sub"),
		"chart/crds/crd.yaml":              "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.test}\n",
		"env/dev.yaml":                     "who: dev\n",
		"overlay/kustomization.yaml":       "resources: [../base]\nnamePrefix: dev-\n",
		"base/kustomization.yaml":          "resources: [a.yaml]\nconfigMapGenerator: [{name: gen, files: [text.txt]}]\n",
		"base/a.yaml":                      named("a"),
		"base/text.txt":                    "hello",
		"plain/a.yaml":                     named("a") + "---\n" + named("b"),
		"plain/deep/c.json":                `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"n":"1"}}`,
		"plain/notes.txt":                  "not read",
	})
	values := files(map[string]string{"prod/values.yaml": "who: prod\n"})
	return map[string]render.Source{
		"Helm": {Files: repo, Path: "chart", Refs: map[string]fs.FS{"v": values}, Helm: &v1alpha1.ApplicationSourceHelm{
			ValueFiles: []string{"../env/dev.yaml", "$v/prod/values.yaml"}, Parameters: []v1alpha1.HelmParameter{{Name: "x", Value: "$ARGOCD_APP_NAME"}},
		}},
		"Kustomize": {Files: repo, Path: "overlay"},
		"Directory": {Files: repo, Path: "plain", Directory: &v1alpha1.ApplicationSourceDirectory{Recurse: true}},
	}
}

func TestAWorkerRendersWhatThisProcessRenders(t *testing.T) {
	pool := newPool(t, worker.Options{Size: 1})
	target := render.Target{AppName: "shop", Namespace: "shop", Env: map[string]string{"ARGOCD_APP_NAME": "shop"}}
	for name, src := range sources() {
		t.Run(name, func(t *testing.T) {
			want, err := render.Render(t.Context(), src, target)
			if err != nil {
				t.Fatal(err)
			}
			got, err := pool.Render(t.Context(), src, target)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Objects, unpack(t, got)); diff != "" {
				t.Errorf("objects (-here +worker):\n%s", diff)
			}
			if got.Digest != manifest.Digest(want.Objects) || got.Count != len(want.Objects) {
				t.Errorf("digest %s of %d objects", got.Digest, got.Count)
			}
			if diff := cmp.Diff(want.Trace.Reads, got.Trace.Reads); diff != "" {
				t.Errorf("what was read (-here +worker):\n%s", diff)
			}
			if diff := cmp.Diff(want.Trace.Answers, got.Trace.Answers); diff != "" {
				t.Errorf("what was asked (-here +worker):\n%s", diff)
			}
			if len(got.Trace.Reads) == 0 || got.Trace.Partial {
				t.Errorf("the trace says nothing: %+v", got.Trace)
			}
		})
	}
}

func TestFaultsKeepTheirKind(t *testing.T) {
	pool := newPool(t, worker.Options{Size: 1})
	_, err := pool.Render(t.Context(), render.Source{Files: files(map[string]string{"plain/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: x\n"}), Path: "plain"}, render.Target{AppName: "shop"})
	if fault, ok := errors.AsType[*manifest.ParseError](err); !ok || fault.File != "plain/a.yaml" || fault.Line == 0 {
		t.Errorf("a fault in a file: %#v", err)
	}
	if _, err = pool.Render(t.Context(), render.Source{Files: files(nil), Path: "nowhere"}, render.Target{AppName: "shop"}); err == nil {
		t.Error("there is no such path")
	} else if _, ok := errors.AsType[*render.NoPathError](err); !ok {
		t.Errorf("a path that is not there: %v", err)
	}
}

// Bombs, each with the limit that it must run into.
func TestABombCostsItsApplicationAnError(t *testing.T) {
	cases := map[string]struct {
		template string
		limits   worker.Limits
		want     string
	}{
		"Memory":    {"{{ $x := \"0123456789abcdef\" }}{{ range until 30 }}{{ $x = printf \"%s%s\" $x $x }}{{ end }}", worker.Limits{Memory: 256 << 20}, "memory (256 MiB)"},
		"CPU":       {"{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}", worker.Limits{CPU: time.Second}, "processor time (1s)"},
		"Wall":      {"{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}", worker.Limits{Wall: 500 * time.Millisecond}, "time (500ms)"},
		"Output":    {"{{ range $i := until 300 }}" + named("a{{ $i }}-{{ randAlphaNum 200 }}") + "---\n{{ end }}", worker.Limits{Output: 20 << 10}, "output (20 KiB)"},
		"Recursion": {`{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`, worker.Limits{}, "exceeded maximum template depth"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pool := newPool(t, worker.Options{Size: 1, Limits: tc.limits})
			target := render.Target{AppName: "bomb"}
			_, err := pool.Render(t.Context(), render.Source{Files: chart(map[string]string{"templates/a.yaml": tc.template}), Path: "chart"}, target)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "chart") {
				t.Fatalf("want an error with %q and the chart's path, got %v", tc.want, err)
			}
			if limit, ok := errors.AsType[*worker.LimitError](err); ok && limit.App != "bomb" {
				t.Errorf("the error does not say whose rendering it was: %v", err)
			}
			if _, err := pool.Render(t.Context(), render.Source{Files: chart(map[string]string{"templates/a.yaml": named("a")}), Path: "chart"}, target); err != nil {
				t.Errorf("the next rendering: %v", err)
			}
		})
	}
}

func TestNobodyWaitsForACancelledRendering(t *testing.T) {
	pool := newPool(t, worker.Options{Size: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	bomb := chart(map[string]string{"templates/a.yaml": "{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}"})
	if _, err := pool.Render(ctx, render.Source{Files: bomb, Path: "chart"}, render.Target{AppName: "bomb"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestTimeZonesWorkWithoutADisk(t *testing.T) {
	pool := newPool(t, worker.Options{Size: 1})
	src := render.Source{Files: chart(map[string]string{"templates/a.yaml": named("a") + `data: {zone: {{ dateInZone "MST" (toDate "2006-01-02" "2026-07-01") "Europe/Berlin" }}}`}), Path: "chart"}
	result, err := pool.Render(t.Context(), src, render.Target{AppName: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if zone := unpack(t, result)[0].Object["data"]; fmt.Sprint(zone) != "map[zone:CEST]" {
		t.Errorf("zone %v", zone)
	}
}

// The examples are the size of chart that one renders all day.
func BenchmarkRender(b *testing.B) {
	examples, err := filepath.Abs("../../../examples/ask")
	if err != nil {
		b.Fatal(err)
	}
	src := render.Source{
		Files: os.DirFS(examples), Path: "charts/assistant-service",
		Helm: &v1alpha1.ApplicationSourceHelm{ValueFiles: []string{"/environments/values-mod-auh1-dev-ask.yaml"}},
	}
	pool := newPool(b, worker.Options{Size: 1})
	for name, f := range map[string]render.Func{"here": render.Render, "worker": pool.Render} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := f(b.Context(), src, render.Target{AppName: "assistant-service", Namespace: "ask"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
