// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"slices"
	"testing"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/source/sourcetest"
)

// packed is a chart that renders one ConfigMap named by its value "name".
func packed(t *testing.T, name, version string) []byte {
	t.Helper()
	return sourcetest.Tarball(t, map[string]string{
		name + "/Chart.yaml":        "apiVersion: v2\nname: " + name + "\nversion: " + version + "\n",
		name + "/values.yaml":       "name: " + name + "-" + version + "\n",
		name + "/templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Values.name }}'}\n",
	})
}

func TestChartOfAHelmRepository(t *testing.T) {
	charts := sourcetest.NewHelmRepository(t)
	charts.Add("cache", "1.2.0", packed(t, "cache", "1.2.0"))
	values := gittest.New(t, map[string]string{"prod.yaml": "name: from-git\n"})
	r := newRenderer(t)
	req := pipeline.Request{App: "a", Name: "a", Namespace: "default", Sources: []v1alpha1.ApplicationSource{{RepoURL: charts.URL, Chart: "cache", TargetRevision: "1.x"}}}
	got := render(t, r, req)
	if !slices.Equal(names(t, got), []string{"cache-1.2.0"}) || !slices.Equal(got.Revisions, []string{"1.2.0"}) || got.Tools[0] != "Helm" {
		t.Errorf("rendered %v at %v by %v", names(t, got), got.Revisions, got.Tools)
	}
	if again := render(t, r, req); !again.Reused {
		t.Error("the same version was rendered again")
	}
	req.Sources[0].Helm = &v1alpha1.ApplicationSourceHelm{ValueFiles: []string{"$values/prod.yaml"}}
	req.Sources = append(req.Sources, v1alpha1.ApplicationSource{RepoURL: values.URL, Ref: "values"})
	if got := render(t, r, req); !slices.Equal(names(t, got), []string{"from-git"}) {
		t.Errorf("with values from Git: rendered %v", names(t, got))
	}
}

func TestMissingDependencyIsFetched(t *testing.T) {
	charts := sourcetest.NewHelmRepository(t)
	charts.Add("cache", "1.2.0", packed(t, "cache", "1.2.0"))
	repo := gittest.New(t, map[string]string{
		"shop/Chart.yaml":  "apiVersion: v2\nname: shop\nversion: 0.1.0\ndependencies:\n- {name: cache, alias: sessions, version: 1.x, repository: '" + charts.URL + "'}\n",
		"shop/values.yaml": "sessions: {name: sessions}\n",
	})
	r := newRenderer(t)
	req := pipeline.Request{App: "a", Name: "a", Namespace: "default", Sources: []v1alpha1.ApplicationSource{{RepoURL: repo.URL, Path: "shop", TargetRevision: "main"}}}
	if got := render(t, r, req); !slices.Equal(names(t, got), []string{"sessions"}) {
		t.Errorf("rendered %v", names(t, got))
	}
	repo.Commit("elsewhere", map[string]string{"other": "x"})
	if got := render(t, r, req); !got.Reused {
		t.Error("a commit elsewhere had the chart rendered again")
	}
	repo.Commit("without", map[string]string{"shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.2.0\n"})
	if got := render(t, r, req); got.Reused || len(objects(t, got)) != 0 {
		t.Errorf("a dependency that is dropped is still rendered: %v", names(t, got))
	}
}
