// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const someApplication = `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop}
spec: {source: {repoURL: "https://git.example.com/shop.git", path: .}}
`

// lay writes the files of a case.
func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFaultsAreFoundBeforeTheStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason, steps string
		want          []string
	}{
		"step":         {"a step that does not exist", "- comit: rev1", []string{"steps.yaml:1:", `no step "comit"`, `did you mean "commit"?`}},
		"field":        {"a field that a step does not have", "- commit: rev1\n- wait: {app: shop, operation: Failed,\n    witin: 3s}", []string{"steps.yaml:3: wait:", `no field "witin"`, `did you mean "within"?`}},
		"nested field": {"a field of a field", "- delete: {onePodOf: {deploy: a/b}}", []string{"steps.yaml:1: delete:", `no field "deploy"`}},
		"duration":     {"a duration that is none", "- wait: {for: soon}", []string{"steps.yaml:1: wait:", "soon"}},
		"at":           {"a time that is none", "- at: later\n  commit: rev1", []string{"steps.yaml:1:", `"later" is no duration`}},
		"file":         {"a file that is not there", "- app: ap.yaml", []string{"steps.yaml:1: app:", "has no file ap.yaml", `did you mean "app.yaml"?`}},
		"no app":       {"a file without an Application", "- app: cluster.yaml", []string{"steps.yaml:1: app:", "cluster.yaml holds no Application"}},
		"manifest":     {"a manifest that cannot be read", "- cluster: broken.yaml", []string{"steps.yaml:1: cluster:", "broken.yaml:2"}},
		"revision":     {"a revision that is not there", "- commit: rev3", []string{"steps.yaml:1: commit:", "no revision rev3", "rev1"}},
		"outside":      {"a path out of the repository", "- commit: {rev: rev1, drop: [../x]}", []string{"steps.yaml:1: commit:", "../x is outside"}},
		"phase":        {"a phase that an operation does not have", "- wait: {app: shop, operation: Fail}", []string{"steps.yaml:1: wait:", `"Fail" is no phase`, "Failed"}},
		"what":         {"a wait for nothing", "- wait: {within: 3s}", []string{"steps.yaml:1: wait:", "wait for one thing"}},
		"settled":      {"a word that cannot be waited for", "- wait: setled", []string{"steps.yaml:1: wait:", `"setled" cannot be waited for`}},
		"object":       {"an object that is none", "- scale: {object: shop, replicas: 1}", []string{"steps.yaml:1: scale:", `"shop" is no object`}},
		"replicas":     {"a scale to nothing", "- scale: {object: Deployment/a/b}", []string{"steps.yaml:1: scale:", "how many replicas"}},
		"cluster":      {"a cluster that is neither there nor not", "- plan: {app: app.yaml, cluster: some}", []string{"steps.yaml:1: plan:", `"some" is not known`}},
		"restart":      {"what cannot be restarted", "- restart: sandbox", []string{"steps.yaml:1: restart:", "only the controller"}},
		"two":          {"two things in a step", "- commit: rev1\n  app: app.yaml", []string{"steps.yaml:1:", "one step does one thing"}},
		"all":          {"every fault is told", "- wait: setled\n- restart: sandbox", []string{"steps.yaml:1: wait:", "steps.yaml:2: restart:"}},
		"simulation":   {"a key that a file of rules does not have", "- sim: sim-typo.yaml", []string{"steps.yaml:1: sim:", `no field "rule"`}},
		"word":         {"a word where fields belong", "- touch: Deployment/a/b", []string{"steps.yaml:1: touch:", "its fields are object, every, for"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := lay(t, map[string]string{
				"steps.yaml": c.steps, "app.yaml": someApplication, "rev1/a.yaml": "", "sim-typo.yaml": "rule: []",
				"cluster.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: x}}", "broken.yaml": "apiVersion: v1\nkind: [\n",
			})
			_, err := Load(dir, "")
			if err == nil {
				t.Fatalf("%s: no error", c.reason)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %q does not say %q", c.reason, err, want)
				}
			}
		})
	}
}

func TestEveryStepCanBeRead(t *testing.T) {
	t.Parallel()
	dir := lay(t, map[string]string{
		"app.yaml": someApplication, "rev1/a.yaml": "", "rev2/a.yaml": "", "cluster.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: x}}", "sim-b.yaml": "rules: []",
		"steps.yaml": `
- cluster: cluster.yaml
- sim: sim-b.yaml
- sim: {rules: [{match: {kind: Job}, neverFinish: true}]}
- settings: {application.resourceTrackingMethod: label, application.namespaces: "team-*"}
- commit: rev1
- commit: {rev: rev2, put: {b/c.yaml: cluster.yaml}, drop: [a.yaml]}
- app: app.yaml
- plan: {app: [app.yaml], rev: rev2, cluster: none}
- verify: app.yaml
- plan: {app: app.yaml, delete: true}
- sync: {app: team-a/shop, force: true, resources: [Job/x, Job/y/z]}
- refresh: shop
- terminate: shop
- rollback: shop
- confirm: shop
- delete: shop
- delete: Deployment/a/b
- delete: {onePodOf: {deployment: a/b, replicaSet: old}}
- scale: {object: Deployment/a/b, replicas: 0}
- setImage: {object: Deployment/a/b, image: "x:2"}
- patch: {object: Deployment/a/b, path: spec.paused, value: true, manager: somebody}
- touch: {object: Deployment/a/b, every: 1s, for: 10s}
- at: 3s
  wait: settled
- wait: {settled: 5s}
- wait: {for: 1s}
- wait: {app: shop, operation: Failed, revision: rev2, within: 3s}
- wait: {object: Deployment/a/b, generation: 2}
- wait: {object: Deployment/a/b, gone: true, within: 60s}
- check: [a, b/c]
- check: d
- restart: controller
`,
	})
	c, err := Load(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range c.Steps {
		seen[s.Verb] = true
	}
	for _, verb := range verbs() {
		if !seen[verb] && verb != "render" {
			t.Errorf("no step %s was read", verb)
		}
	}
}
