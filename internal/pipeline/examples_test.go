// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// TestExamplesAreInSync applies what the Applications of the examples render and compares it three times, the last time
// over a new connection that knows nothing: nothing differs, and the API server need not be asked.
func TestExamplesAreInSync(t *testing.T) {
	env := sandboxtest.Start(t, sandboxtest.Options{RuleSets: []string{"external-secrets", "cnpg"}})
	dest, namespace := connect(t, env), env.Namespace(t)
	var applied []manifest.Object
	objects := rendered(t, namespace)
	// Definitions first: what they fill in is filled in when an object is written.
	slices.SortStableFunc(objects, func(a, b manifest.Object) int {
		_, aDefines := manifest.DefinesKind(a.Unstructured)
		_, bDefines := manifest.DefinesKind(b.Unstructured)
		switch {
		case aDefines == bDefines:
			return 0
		case aDefines:
			return -1
		}
		return 1
	})
	for _, obj := range objects {
		gk := obj.GroupVersionKind().GroupKind()
		namespaced, served := dest.Scope(gk)
		if !served || gk.Kind == "Namespace" || !ordinary(obj) {
			continue
		}
		if obj.SetNamespace(""); namespaced {
			obj.SetNamespace(namespace)
		}
		// Charts that are delivered to namespaces of their own use the same names.
		if slices.ContainsFunc(applied, func(o manifest.Object) bool { return o.Key() == obj.Key() }) {
			continue
		}
		if _, err := dest.Apply(t.Context(), obj.Unstructured, cluster.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		applied = append(applied, obj)
	}
	if len(applied) < 100 {
		t.Fatalf("%d objects were applied: the test shows too little", len(applied))
	}
	again := connect(t, env)
	for round, c := range []*cluster.Cluster{dest, dest, again} {
		asking := &counting{Cluster: c}
		for _, obj := range applied {
			key := obj.Key()
			if err := c.Watch(t.Context(), key.GroupKind()); err != nil {
				t.Fatal(err)
			}
			live, owners, ok := c.GetOwned(key)
			for deadline := time.Now().Add(3 * time.Minute); !ok && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
				live, owners, ok = c.GetOwned(key)
			}
			if !ok {
				t.Fatalf("comparison %d: %s is not there", round+1, key)
			}
			v, err := verdictOn(t.Context(), asking, Subject{}, plan.Step{Key: key, Object: &obj}, live, owners)
			if err != nil || !v.InSync() {
				t.Errorf("comparison %d: %s: %v, %+v %s", round+1, key, err, v.Changes, v.Rejected)
			}
		}
		if asking.dryRuns*100 > len(applied) {
			t.Errorf("comparison %d of %d objects asked the API server %d times", round+1, len(applied), asking.dryRuns)
		}
	}
}

// ordinary tells whether an object is one that a sync keeps in sync.
func ordinary(obj manifest.Object) bool {
	class := manifest.Classify(obj.Unstructured)
	return !class.Hook && !class.Skip && !class.Ignored
}

// rendered returns what the Applications of the examples render.
func rendered(t *testing.T, namespace string) []manifest.Object {
	t.Helper()
	var all []manifest.Object
	for _, pattern := range []string{"ask/apps/*.yaml", "agentfy/gitops-apps/dev/*.yaml", "agentfy/agentfy-apps/dev/*.yaml"} {
		files, err := filepath.Glob("../../examples/" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no Applications in %s: %v", pattern, err)
		}
		repository, _, _ := strings.Cut(pattern, "/")
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var app v1alpha1.Application
			if err := yaml.Unmarshal(data, &app); err != nil {
				t.Fatal(err)
			}
			src := app.Spec.Source
			result, err := render.Render(t.Context(), render.Source{
				Files: os.DirFS("../../examples/" + repository), Path: src.Path, Helm: src.Helm, Kustomize: src.Kustomize, Directory: src.Directory,
			}, render.Target{AppName: app.Name, Namespace: namespace})
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all = append(all, result.Objects...)
		}
	}
	return all
}
