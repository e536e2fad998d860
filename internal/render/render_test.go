// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// application is the file app.yaml of a golden archive.
type application struct {
	v1alpha1.ApplicationSource
	AppName     string            `json:"appName"`
	Namespace   string            `json:"namespace"`
	KubeVersion string            `json:"kubeVersion"`
	APIVersions []string          `json:"apiVersions"`
	Env         map[string]string `json:"env"`
	EnableHelm  bool              `json:"enableHelm"`
}

// Each archive in testdata holds an application (app.yaml), a repository
// (repo/…), trees of other sources (refs/NAME/…) and what rendering gives.
func TestRenderGolden(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives in testdata", err)
	}
	for _, file := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source, target := readArchive(t, archive)
			got := describe(render.Render(t.Context(), source, target))
			want := archive.Files[len(archive.Files)-1]
			if want.Name != "want" {
				t.Fatal("the last file of an archive must be want")
			}
			if *update {
				archive.Files[len(archive.Files)-1].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", archive.Comment, diff)
			}
		})
	}
}

func readArchive(t *testing.T, archive *txtar.Archive) (render.Source, render.Target) {
	t.Helper()
	repo := fstest.MapFS{}
	refs := map[string]fs.FS{}
	var app application
	for _, f := range archive.Files {
		place, name, _ := strings.Cut(f.Name, "/")
		switch place {
		case "app.yaml":
			if err := yaml.UnmarshalStrict(f.Data, &app); err != nil {
				t.Fatal(err)
			}
		case "repo":
			repo[name] = &fstest.MapFile{Data: f.Data}
		case "refs":
			ref, inner, _ := strings.Cut(name, "/")
			if refs[ref] == nil {
				refs[ref] = fstest.MapFS{}
			}
			refs[ref].(fstest.MapFS)[inner] = &fstest.MapFile{Data: f.Data}
		}
	}
	if app.AppName == "" {
		app.AppName = "app"
	}
	source := render.Source{Files: repo, Path: app.Path, Refs: refs, Helm: app.Helm, Kustomize: app.Kustomize, Directory: app.Directory, Plugin: app.Plugin}
	return source, render.Target{AppName: app.AppName, Namespace: app.Namespace, KubeVersion: app.KubeVersion, APIVersions: app.APIVersions, Env: app.Env, KustomizeHelm: app.EnableHelm}
}

// describe writes a result the way the golden archives keep it.
func describe(result render.Result, err error) string {
	var b bytes.Buffer
	if err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
		return b.String()
	}
	fmt.Fprintf(&b, "# %s\n", result.Tool)
	for _, w := range result.Warnings {
		fmt.Fprintf(&b, "# %s %s: %s\n", w.Severity, w.Code, w.Message)
	}
	for _, o := range result.Objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return err.Error()
		}
		fmt.Fprintf(&b, "--- # %s\n%s", place(o.Provenance), text)
	}
	return b.String()
}

func place(p manifest.Provenance) string {
	s := p.File
	if p.Line > 0 {
		s += fmt.Sprintf(":%d", p.Line)
	}
	if p.Chart != "" {
		s += " chart " + p.Chart
	}
	return s
}

func TestRenderTypedErrors(t *testing.T) {
	repo := fstest.MapFS{
		"bad/a.yaml":               {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a: b\n")},
		"chart/Chart.yaml":         {Data: []byte("apiVersion: v2\nname: chart\nversion: 1.0.0\n")},
		"chart/templates/one.yaml": {Data: []byte("a: 1\n\n{{ required \"size is needed\" .Values.size }}\n")},
	}
	cases := map[string]struct {
		reason string
		path   string
		file   string
		line   int
	}{
		"Manifest": {reason: "A broken manifest has a place.", path: "bad", file: "bad/a.yaml", line: 4},
		"Template": {reason: "A template that fails has a place.", path: "chart", file: "chart/templates/one.yaml", line: 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := render.Render(t.Context(), render.Source{Files: repo, Path: tc.path}, render.Target{AppName: "app"})
			var fault *manifest.ParseError
			if !errors.As(err, &fault) || fault.File != tc.file || fault.Line != tc.line {
				t.Errorf("%s\nwant %s:%d, got %v", tc.reason, tc.file, tc.line, err)
			}
		})
	}
	_, err := render.Render(t.Context(), render.Source{Files: repo, Path: "apps/none"}, render.Target{AppName: "app"})
	var missing *render.NoPathError
	if !errors.As(err, &missing) || missing.Path != "apps/none" {
		t.Errorf("want a NoPathError, got %v", err)
	}
}

func TestRenderIsDeterministic(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/helm.txtar")
	if err != nil {
		t.Fatal(err)
	}
	source, target := readArchive(t, archive)
	first := describe(render.Render(t.Context(), source, target))
	for range 10 {
		if again := describe(render.Render(t.Context(), source, target)); again != first {
			t.Fatal(cmp.Diff(first, again))
		}
	}
}

func TestRenderStopsWhenAsked(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	archive, err := txtar.ParseFile("testdata/kustomize.txtar")
	if err != nil {
		t.Fatal(err)
	}
	source, target := readArchive(t, archive)
	if _, err := render.Render(ctx, source, target); !errors.Is(err, context.Canceled) {
		t.Errorf("want %v, got %v", context.Canceled, err)
	}
}

// The examples are the size of chart that one renders all day.
func BenchmarkRenderAssistantService(b *testing.B) {
	source := render.Source{
		Files: os.DirFS("../../examples/ask"),
		Path:  "charts/assistant-service",
		Helm:  &v1alpha1.ApplicationSourceHelm{ValueFiles: []string{"/environments/values-mod-auh1-dev-ask.yaml"}},
	}
	for b.Loop() {
		if _, err := render.Render(b.Context(), source, render.Target{AppName: "assistant-service", Namespace: "ask"}); err != nil {
			b.Fatal(err)
		}
	}
}
