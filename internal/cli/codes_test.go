// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/rehearse"
	"github.com/wavetrain/wavetrain/internal/report/findings"
)

// pair are the files of a directory in which verify finds something, and of one near
// it in which it does not.
type pair struct{ bad, good map[string]string }

const (
	chartOfCode       = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"
	manifestOfCode    = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\n"
	applicationOfCode = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: argocd}\nspec:\n  project: default\n" +
		"  source: {repoURL: %s, path: shop, helm: {ignoreMissingValueFiles: true, valueFiles: [%s]}}\n  destination: {server: https://kubernetes.default.svc, namespace: shop}\n"
	repositoryOfCode = "repository: https://git.example.com/shop.git\n"
)

// chartWith is a chart with a template, and maybe more files.
func chartWith(template string, more ...string) map[string]string {
	files := map[string]string{"shop/Chart.yaml": chartOfCode, "shop/templates/all.yaml": template}
	for i := 0; i+1 < len(more); i += 2 {
		files[more[i]] = more[i+1]
	}
	return files
}

// pairs are those of the codes that verify finds without a cluster.
func pairs() map[string]pair {
	const remote, local = `{"$ref": "https://schemas.example.com/values.json"}`, `{"$ref": "#/definitions/all", "definitions": {"all": {}}}`
	app := func(repo, file string) map[string]string {
		return chartWith(manifestOfCode, "apps.yaml", fmt.Sprintf(applicationOfCode, repo, file), ".wavetrain.yaml", repositoryOfCode, "shop/there.yaml", "a: b\n")
	}
	return map[string]pair{
		"not-a-manifest": {
			map[string]string{"shop/all.yaml": manifestOfCode, "shop/notes.yaml": "to: do\n"},
			map[string]string{"shop/all.yaml": manifestOfCode},
		},
		"duplicate-key":      {chartWith(manifestOfCode + "data:\n  a: b\n  a: c\n"), chartWith(manifestOfCode + "data:\n  a: b\n  c: c\n")},
		"schema-not-checked": {chartWith(manifestOfCode, "shop/values.schema.json", remote), chartWith(manifestOfCode, "shop/values.schema.json", local)},
		"lookup": {
			chartWith(manifestOfCode + `data: {a: {{ lookup "v1" "Secret" "shop" "shop" | toJson | quote }}}` + "\n"),
			chartWith(manifestOfCode + "data: {a: lookup}\n"),
		},
		"value-file-missing": {app("https://git.example.com/shop.git", "absent.yaml"), app("https://git.example.com/shop.git", "there.yaml")},
		"source-elsewhere":   {app("https://git.example.com/other.git", ""), app("https://git.example.com/shop.git", "")},
	}
}

// TestCodesOfOtherRooms has every code that no check of verify makes found, and not
// found near by. Those of checks are shown where these are.
func TestCodesOfOtherRooms(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../verify/testdata/elsewhere.txt")
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			codes = append(codes, strings.TrimSpace(line))
		}
	}
	shown := append(slices.Collect(maps.Keys(pairs())), "render-failed", "not-permitted", "no-service-account")
	if slices.Sort(shown); !slices.Equal(shown, codes) {
		t.Errorf("shown are %q, and these are to be: %q", shown, codes)
	}
	for code, p := range pairs() {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			if found := verified(t, p.bad); !slices.Contains(found, code) {
				t.Errorf("not found, but %q", found)
			}
			if found := verified(t, p.good); slices.Contains(found, code) {
				t.Error("found where nothing is wrong")
			}
		})
	}
}

// verified are the codes of what verify finds in a directory: in its Applications, or
// in the folder shop.
func verified(t *testing.T, files map[string]string) []string {
	t.Helper()
	dir := written(t, files)
	subject := filepath.Join(dir, "shop")
	if files["apps.yaml"] != "" {
		subject = filepath.Join(dir, "apps.yaml")
	}
	code, stdout, stderr := call(t, "verify", subject, "-o", "json")
	var result struct{ Findings []findings.Finding }
	if err := json.Unmarshal([]byte(stdout), &result); err != nil {
		t.Fatalf("exit code %d: %v\n%s", code, err, stderr)
	}
	return codesOf(result.Findings)
}

func codesOf(list []findings.Finding) []string {
	codes := []string{}
	for _, f := range list {
		codes = append(codes, f.Code)
	}
	return codes
}

func written(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestRenderFailedIsFound rehearses a revision that cannot be rendered, after one that
// can.
func TestRenderFailedIsFound(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"app.yaml":   fmt.Sprintf(applicationOfCode, "https://git.example.com/shop.git", ""),
		"steps.yaml": "- commit: rev1\n- verify: {app: app.yaml, cluster: none}\n- check: good\n- commit: rev2\n- verify: {app: app.yaml, cluster: none}\n- check: bad\n",
	}
	for rev, template := range map[string]string{"rev1": manifestOfCode, "rev2": "{{ fail `on purpose` }}"} {
		for name, content := range chartWith(template) {
			files[rev+"/"+name] = content
		}
	}
	code, stdout, stderr := call(t, "rehearse", written(t, files), "-o", "json", "--timeout", "5m")
	var result rehearse.Result
	if err := json.Unmarshal([]byte(stdout), &result); err != nil {
		t.Fatalf("exit code %d: %v\n%s", code, err, stderr)
	}
	found := map[string][]string{}
	for _, c := range result.Checks {
		found[c.Name] = codesOf(c.Findings)
	}
	if found["good"] == nil || slices.Contains(found["good"], "render-failed") || !slices.Contains(found["bad"], "render-failed") {
		t.Errorf("the findings are %q", found)
	}
}

// TestProjectsAreFound plans Applications of projects that permit what they render or
// do not, and that name somebody to write as or nobody.
func TestProjectsAreFound(t *testing.T) {
	w := withoutController(t, "permitted", map[string]string{"app/a.yaml": plannedConfig("a", "0", "one")})
	create := func(name string, change func(*v1alpha1.AppProjectSpec)) {
		spec := v1alpha1.AppProjectSpec{
			SourceRepos: []string{"*"}, Destinations: []v1alpha1.ApplicationDestination{{Server: "*", Namespace: "*"}},
			DestinationServiceAccounts: []v1alpha1.DestinationServiceAccount{{Server: "*", Namespace: "*", DefaultServiceAccount: "deployer"}},
		}
		change(&spec)
		if err := w.client.Create(t.Context(), &v1alpha1.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: w.control, Name: name}, Spec: spec}); err != nil {
			t.Fatal(err)
		}
		app := &v1alpha1.Application{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.control, Name: name},
			Spec: v1alpha1.ApplicationSpec{
				Project: name, Source: &v1alpha1.ApplicationSource{RepoURL: w.repo.URL, Path: "app", TargetRevision: "main"},
				Destination: v1alpha1.ApplicationDestination{Server: v1alpha1.InClusterServer, Namespace: w.target},
			},
		}
		if err := w.client.Create(t.Context(), app); err != nil {
			t.Fatal(err)
		}
	}
	create("permitted", func(*v1alpha1.AppProjectSpec) {})
	create("forbidding", func(p *v1alpha1.AppProjectSpec) {
		p.NamespaceResourceBlacklist = []v1alpha1.GroupKind{{Kind: "ConfigMap"}}
	})
	create("nobody", func(p *v1alpha1.AppProjectSpec) { p.DestinationServiceAccounts = nil })
	err := w.client.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.control, Name: "argocd-cm", Labels: map[string]string{"app.kubernetes.io/part-of": "argocd"}},
		Data:       map[string]string{"application.sync.impersonation.enabled": "true"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{"permitted": {}, "forbidding": {"not-permitted"}, "nobody": {"no-service-account"}} {
		stdout, _ := w.cli(exitOK, "plan", "--app", name, "-o", "json")
		var file struct {
			Apps []struct{ Findings []findings.Finding }
		}
		if err := json.Unmarshal([]byte(stdout), &file); err != nil || len(file.Apps) != 1 {
			t.Fatalf("%v:\n%s", err, stdout)
		}
		if got := codesOf(file.Apps[0].Findings); !slices.Equal(got, want) {
			t.Errorf("%s: the findings are %q, want %q", name, got, want)
		}
	}
}
