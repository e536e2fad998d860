// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/render/worker"
	"github.com/wavetrain/wavetrain/internal/source/sourcetest"
)

// The test binary is a render worker when it is called so.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "render-worker" {
		if err := worker.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// inWorkers renders in processes that have no network.
func inWorkers(t *testing.T) *pipeline.Renderer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pool := worker.NewPool(worker.Options{Command: []string{self, "render-worker"}, Size: 1})
	t.Cleanup(pool.Close)
	return pipeline.NewRenderer(newStore(t), nil, pipeline.Rendering{Render: pool.Render})
}

func attempt(t *testing.T, r *pipeline.Renderer, req pipeline.Request) error {
	t.Helper()
	revisions, err := r.Resolve(t.Context(), req.Project, req.Sources)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Render(t.Context(), req, revisions)
	return err
}

func TestABaseOfAnotherRepositoryIsFetchedWhereThatIsAllowed(t *testing.T) {
	bases := gittest.New(t, map[string]string{
		"web/kustomization.yaml":    "resources: [../common, web.yaml]\n",
		"web/web.yaml":              template("web", "one"),
		"common/kustomization.yaml": "resources: [common.yaml]\n",
		"common/common.yaml":        template("common", "one"),
		"out/kustomization.yaml":    "resources: [../../../k]\n",
		"unrelated":                 "x",
	})
	repo := gittest.New(t, map[string]string{
		"k/kustomization.yaml":   "namePrefix: a-\nresources: ['" + bases.URL + "//web?ref=main', own.yaml]\n",
		"k/own.yaml":             template("own", "one"),
		"out/kustomization.yaml": "resources: ['" + bases.URL + "//out?ref=main']\n",
	})
	r := inWorkers(t)
	req := pipeline.Request{App: "a", Name: "a", Namespace: "default", Sources: []v1alpha1.ApplicationSource{{RepoURL: repo.URL, Path: "k", TargetRevision: "main"}}}
	err := attempt(t, r, req)
	if err == nil || !strings.Contains(err.Error(), "wavetrain.dev.kustomize.remoteBases") || !strings.Contains(err.Error(), "k/kustomization.yaml") {
		t.Fatalf("nobody has allowed it: %v", err)
	}
	req.RemoteBases = []string{strings.TrimSuffix(bases.URL, "/") + "-other"}
	if err := attempt(t, r, req); err == nil || !strings.Contains(err.Error(), "remoteBases") {
		t.Fatalf("another repository is allowed: %v", err)
	}
	req.RemoteBases = []string{bases.URL}
	got := render(t, r, req)
	if !slices.Equal(names(t, got), []string{"a-common", "a-web", "a-own"}) {
		t.Errorf("rendered %v", names(t, got))
	}
	if file := objects(t, got)[1].Provenance.File; file != bases.URL+"/web/web.yaml" {
		t.Errorf("comes from %s", file)
	}
	followed := func(got *pipeline.Desired) string {
		sources, revisions := got.Followed(req.Sources)
		if len(sources) != 2 || len(revisions) != 2 || sources[0].RepoURL != repo.URL || sources[1].RepoURL != bases.URL || sources[1].TargetRevision != "main" {
			t.Fatalf("follows %+v at %v", sources, revisions)
		}
		return revisions[1]
	}
	if at := followed(got); at != bases.Git("rev-parse", "HEAD") {
		t.Errorf("follows the base at %s", at)
	}
	head := bases.Commit("elsewhere", map[string]string{"unrelated": "y"})
	if got := render(t, r, req); !got.Reused {
		t.Error("a commit to the base's repository that does not touch it had it rendered again")
	} else if at := followed(got); at != head {
		t.Errorf("what is reused follows the base at %s, not at its head", at)
	}
	bases.Commit("there", map[string]string{"common/common.yaml": template("common", "two")})
	if got := render(t, r, req); got.Reused {
		t.Error("the base has changed and was not rendered again")
	}
	req.Sources[0].Path = "out"
	if err := attempt(t, r, req); err == nil || !strings.Contains(err.Error(), "leaves the repository") {
		t.Errorf("a base reaches into the repository that uses it: %v", err)
	}
}

// Where commits have to be signed, those of bases have to be, unless the kustomization
// says which one it is.
func TestCommitsOfBasesAreVerified(t *testing.T) {
	bases := gittest.New(t, map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": template("a", "one")})
	head := bases.Git("rev-parse", "HEAD")
	repo := gittest.New(t, map[string]string{
		"named/kustomization.yaml":  "resources: ['" + bases.URL + "?ref=main']\n",
		"pinned/kustomization.yaml": "resources: ['" + bases.URL + "?ref=" + head + "']\n",
	})
	r := inWorkers(t)
	var asked []string
	good := false
	req := pipeline.Request{
		App: "a", Name: "a", Namespace: "default", RemoteBases: []string{bases.URL},
		Sources: []v1alpha1.ApplicationSource{{RepoURL: repo.URL, Path: "named", TargetRevision: "main"}},
		Verify: func(_ context.Context, url, revision string) error {
			asked = append(asked, url+" "+revision)
			if !good {
				return errors.New("the commit is not signed")
			}
			return nil
		},
	}
	if err := attempt(t, r, req); err == nil || !strings.Contains(err.Error(), "not signed") || !slices.Contains(asked, bases.URL+" "+head) {
		t.Errorf("a base that nobody has signed: %v; asked about %v", err, asked)
	}
	good = true
	if err := attempt(t, r, req); err != nil {
		t.Errorf("a base that is signed: %v", err)
	}
	good = false
	if err := attempt(t, r, req); err == nil {
		t.Error("what was rendered before is not asked about again")
	}
	asked = nil
	req.Sources[0].Path = "pinned"
	if err := attempt(t, r, req); err != nil || len(asked) > 0 {
		t.Errorf("a base whose commit is named in full: %v; asked about %v", err, asked)
	}
}

func TestAChartOfAKustomizationIsFetched(t *testing.T) {
	charts := sourcetest.NewHelmRepository(t)
	charts.Add("cache", "1.2.0", packed(t, "cache", "1.2.0"))
	repo := gittest.New(t, map[string]string{
		"k/kustomization.yaml": "helmCharts:\n- {name: cache, repo: '" + charts.URL + "', version: 1.2.0, releaseName: r}\n",
	})
	r := inWorkers(t)
	req := pipeline.Request{App: "a", Name: "a", Namespace: "default", Sources: []v1alpha1.ApplicationSource{{RepoURL: repo.URL, Path: "k", TargetRevision: "main"}}}
	if err := attempt(t, r, req); err == nil || !strings.Contains(err.Error(), "--enable-helm") {
		t.Fatalf("nobody has allowed it: %v", err)
	}
	req.KustomizeHelm = true
	if got := render(t, r, req); !slices.Equal(names(t, got), []string{"cache-1.2.0"}) {
		t.Errorf("rendered %v", names(t, got))
	}
	if got := render(t, r, req); !got.Reused {
		t.Error("the same chart was rendered again")
	}
}
