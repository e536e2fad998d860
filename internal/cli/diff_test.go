// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/rest"

	"github.com/wavetrain/wavetrain/api/crds"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// TestDiffScripts runs the scripts of testdata/diff: how diffs of a real cluster read.
func TestDiffScripts(t *testing.T) {
	env := sandboxtest.Start(t, sandboxtest.Options{Nodes: 1})
	install(t, env.Config)
	repo := gittest.New(t, map[string]string{"app/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: versioned}\ndata: {color: red}\n"})
	first := repo.Commit("elsewhere", map[string]string{"README": "x"})
	repo.Commit("blue", map[string]string{"app/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: versioned}\ndata: {color: blue}\n"})
	testscript.Run(t, testscript.Params{
		Dir: "testdata/diff", RequireUniqueNames: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"apply": func(ts *testscript.TestScript, _ bool, args []string) { applyAs(ts, env.Config, args) },
		},
		Setup: func(script *testscript.Env) error {
			script.Setenv("KUBECONFIG", env.Kubeconfig)
			script.Setenv("NS", env.Namespace(t))
			script.Setenv("HOME", script.WorkDir)
			script.Setenv("REPO", repo.URL)
			script.Setenv("FIRST", first)
			return nil
		},
	})
}

// install has the API server serve Applications.
func install(t *testing.T, cfg *rest.Config) {
	t.Helper()
	definitions, err := crds.YAML()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifest.Decode("crds.yaml", definitions)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cluster.New(cfg, cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, obj := range objects {
		if _, err := c.Apply(t.Context(), obj.Unstructured, cluster.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// applyAs is the script command "apply FILE [MANAGER]": it applies a file, with ${NS} and ${REPO} replaced, as somebody.
func applyAs(ts *testscript.TestScript, cfg *rest.Config, args []string) {
	if len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: apply FILE [MANAGER]")
	}
	var opts cluster.ApplyOptions
	if len(args) == 2 {
		opts.Manager = args[1]
	}
	text := strings.NewReplacer("${NS}", ts.Getenv("NS"), "${REPO}", ts.Getenv("REPO")).Replace(ts.ReadFile(args[0]))
	objects, err := manifest.Decode(args[0], []byte(text))
	ts.Check(err)
	c, err := cluster.New(cfg, cluster.Options{})
	ts.Check(err)
	defer c.Close()
	for _, obj := range objects {
		if obj.GetNamespace() == "" {
			obj.SetNamespace(ts.Getenv("NS"))
		}
		// A kind that was installed a moment ago may not be served yet.
		deadline := time.Now().Add(3 * time.Minute)
		for {
			_, err = c.Apply(context.Background(), obj.Unstructured, opts)
			if err == nil || time.Now().After(deadline) {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		ts.Check(err)
	}
}
