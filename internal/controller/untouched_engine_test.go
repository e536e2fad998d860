// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// tree reads a directory as the files of a repository.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// applicationsIn reads the Applications of a repository.
func applicationsIn(t *testing.T, files map[string]string, pattern string) []v1alpha1.Application {
	t.Helper()
	var apps []v1alpha1.Application
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if ok, err := filepath.Match(pattern, path); err != nil || !ok {
			continue
		}
		var app v1alpha1.Application
		if err := yaml.Unmarshal([]byte(files[path]), &app); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		apps = append(apps, app)
	}
	if len(apps) == 0 {
		t.Fatalf("no Applications in %s", pattern)
	}
	return apps
}

// What the examples deliver is in sync, look after look and through a restart: no
// Application is ever seen otherwise, no operation begins, nothing is written, and
// the API server is hardly asked.
func TestExampleStaysUntouched(t *testing.T) {
	t.Parallel()
	w := newAudited(t, "external-secrets", "cnpg")
	stayUntouched(t, w, converged, w.applicationsOf(t, "../../examples/ask", "apps/*.yaml")...)
}

func TestExampleOfAPlatformStaysUntouched(t *testing.T) {
	t.Parallel()
	w := newAudited(t, "external-secrets")
	rules, err := os.ReadFile("../../examples/agentfy/sim.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w.env.SetRules(t, string(rules))
	// In the order of the Applications that hold them: what defines kinds and makes namespaces comes first.
	stages := w.applicationsOf(t, "../../examples/agentfy", "gitops-apps/dev/[^m]*.yaml", "gitops-apps/dev/manifests-app.yaml", "agentfy-apps/dev/*.yaml")
	// The credentials of a registry are nothing that a simulated vault has.
	stayUntouched(t, w, func(app *v1alpha1.Application) bool {
		state := app.Status.OperationState
		return app.Status.Sync.Status == v1alpha1.SyncStatusSynced && state != nil && state.Phase == v1alpha1.OperationSucceeded
	}, stages...)
}

// The same of kinds that comparisons stumble over.
func TestDifficultKindsStayUntouched(t *testing.T) {
	t.Parallel()
	w := newAudited(t)
	repo := gittest.New(t, tree(t, "testdata/difficult"))
	stayUntouched(t, w, converged, func() []types.NamespacedName {
		return []types.NamespacedName{w.app("difficult", repo, ".", func(app *v1alpha1.Application) { app.Spec.Destination.Namespace = "difficult" })}
	})
}

// newAudited is a control plane of the test's own, without a controller.
func newAudited(t *testing.T, ruleSets ...string) audited {
	t.Helper()
	log := filepath.Join(t.TempDir(), "audit.log")
	return audited{newWorldWithoutController(t, sandboxtest.Options{AuditLog: log, Own: true, RuleSets: ruleSets}), log}
}

// applicationsOf returns what makes the Applications of an example, all for this
// cluster: those of one pattern of files each.
func (a audited) applicationsOf(t *testing.T, dir string, patterns ...string) (stages []func() []types.NamespacedName) {
	t.Helper()
	files := tree(t, dir)
	repo := gittest.New(t, files)
	for _, pattern := range patterns {
		stages = append(stages, func() (names []types.NamespacedName) {
			for _, app := range applicationsIn(t, files, pattern) {
				names = append(names, a.app(app.Name, repo, "", func(made *v1alpha1.Application) {
					made.Spec.Source = app.Spec.Source
					made.Spec.Source.RepoURL, made.Spec.Source.TargetRevision = repo.URL, "main"
					made.Spec.Destination.Namespace = app.Spec.Destination.Namespace
					made.Spec.SyncPolicy.SyncOptions = []string{"SkipDryRunOnMissingResource=true", "CreateNamespace=true"}
				}))
			}
			return names
		})
	}
	return stages
}

// stayUntouched has Applications delivered, one stage after the other, and looks at
// them three times, after a restart the second time.
func stayUntouched(t *testing.T, w audited, delivered func(*v1alpha1.Application) bool, stages ...func() []types.NamespacedName) {
	t.Helper()
	stop := w.serve(t)
	rows := 0
	var names []types.NamespacedName
	for _, stage := range stages {
		made := stage()
		for _, name := range made {
			rows += len(w.until(name, 3*time.Minute, "delivered", delivered).Status.Resources)
		}
		names = append(names, made...)
	}
	look := func() {
		t.Helper()
		for _, name := range names {
			w.must(w.client.Patch(t.Context(), w.get(name), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"hard"}}}`))))
		}
		for _, name := range names {
			app := w.until(name, time.Minute, "looked at", func(app *v1alpha1.Application) bool {
				_, waits := app.Annotations[v1alpha1.AnnotationRefresh]
				return !waits
			})
			if app.Status.Sync.Status != v1alpha1.SyncStatusSynced {
				t.Error(summary(app))
			}
		}
	}
	operations, since := w.operations(names), 0
	w.eventually(time.Minute, "what was delivered has come to rest", func() (bool, string) {
		since = len(sandboxtest.Requests(t, w.log))
		look()
		time.Sleep(time.Second)
		written := w.written(since)
		return len(written) == 0, strings.Join(written, "\n")
	})
	for round := range 3 {
		if round == 1 {
			stop()
			stop = w.serve(t)
		}
		asked := len(sandboxtest.Requests(t, w.log))
		look()
		var dryRuns []string
		for _, r := range sandboxtest.Requests(t, w.log)[asked:] {
			if r.DryRun() && (r.UserAgent == underTest || r.UserAgent == "wavetrain") {
				dryRuns = append(dryRuns, r.RequestURI)
			}
		}
		if len(dryRuns)*100 > rows {
			t.Errorf("look %d at %d objects asked the API server of:\n%s", round+1, rows, strings.Join(dryRuns, "\n"))
		}
	}
	stop()
	if written := w.written(since); len(written) > 0 {
		t.Errorf("written of what was in sync:\n%s", strings.Join(written, "\n"))
	}
	if now := w.operations(names); !maps.Equal(operations, now) {
		t.Errorf("operations have begun: %v, before %v", now, operations)
	}
}

// serve runs a controller of which the requests count, until stop is called.
func (a audited) serve(t *testing.T) (stop func()) {
	t.Helper()
	cfg := rest.CopyConfig(a.env.Config)
	cfg.UserAgent = underTest
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done, mirrors, ended := make(chan error, 1), t.TempDir(), false
	go func() { done <- runController(ctx, cfg, mirrors, a.Control) }()
	stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("controller: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// written are the writes of the controller since a request, but to Applications and
// Leases.
func (a audited) written(since int) (list []string) {
	for _, r := range sandboxtest.Requests(a.t, a.log)[since:] {
		ours := r.UserAgent == underTest || r.UserAgent == "wavetrain"
		if ours && r.Writes() && r.ResponseStatus.Code < 400 && r.ObjectRef.Resource != "leases" && r.ObjectRef.Resource != "applications" {
			list = append(list, r.Verb+" "+r.RequestURI)
		}
	}
	return list
}

// operations tells the last operations of Applications apart.
func (w *world) operations(names []types.NamespacedName) map[types.NamespacedName]string {
	found := map[types.NamespacedName]string{}
	for _, name := range names {
		if state := w.get(name).Status.OperationState; state != nil {
			found[name] = fmt.Sprint(state.Operation.Info)
		}
	}
	return found
}
