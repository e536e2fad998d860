// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// heedsItsRepository plans revisions of which each has another configuration beside
// its sources.
func (w *plannedWorld) heedsItsRepository() {
	w.Helper()
	const file = ".wavetrain.yaml"
	config := `references: [{kind: ConfigMap, path: data.v, to: Secret}]
verify:
  rules: [{name: agreed, severity: warning, match: ConfigMap/a, holds: "object.data.v == 'agreed'", message: is not what was agreed}]
`
	ruled := w.repo.Commit("rules", map[string]string{"app/a.yaml": plannedConfig("a", "0", "ruled"), file: config})
	ignoring := w.repo.Commit("exceptions", map[string]string{
		"app/a.yaml": plannedConfig("a", "0", "ignored"), file: config + "  ignore: [{code: agreed, match: ConfigMap/a, reason: until next year}]\n",
	})
	broken := w.repo.Commit("broken", map[string]string{file: strings.Replace(config, "object.data.v ==", "object.data.v =", 1)})
	w.repo.Commit("none", map[string]string{"app/a.yaml": plannedConfig("a", "0", "none"), file: "-"})
	for _, c := range []struct {
		revision  string
		want, not []string
	}{
		{ruled, []string{`"code": "agreed"`, "ConfigMap/a: is not what was agreed", "Secret/ruled"}, nil},
		{ignoring, []string{"Secret/ignored"}, []string{"agreed"}},
		{"main", []string{`"update"`}, []string{"agreed", "Secret/none"}},
	} {
		stdout, _ := w.cli(exitOK, "plan", "--app", "shop", "--revision", c.revision, "-o", "json")
		missing := slices.DeleteFunc(slices.Clone(c.want), func(text string) bool { return strings.Contains(stdout, text) })
		wrong := slices.DeleteFunc(slices.Clone(c.not), func(text string) bool { return !strings.Contains(stdout, text) })
		if len(missing)+len(wrong) > 0 {
			w.Errorf("at %s: without %q, with %q:\n%s", c.revision, missing, wrong, stdout)
		}
	}
	if _, stderr := w.cli(exitFailed, "plan", "--app", "shop", "--revision", broken); !strings.Contains(stderr, file+" of "+w.repo.URL+":3: ") {
		w.Errorf("a rule that cannot be read: %s", stderr)
	}
}

// plansPlugins plans and compares an Application that a plugin renders.
func (w *plannedWorld) plansPlugins() {
	w.Helper()
	dir := w.TempDir()
	description := `apiVersion: argoproj.io/v1alpha1
kind: ConfigManagementPlugin
metadata: {name: mine}
spec: {generate: {command: [sh, -c, "cat made.txt"]}}
`
	if err := os.WriteFile(filepath.Join(dir, "mine.yaml"), []byte(description), 0o600); err != nil {
		w.Fatal(err)
	}
	w.repo.Commit("plugged", map[string]string{"plugged/made.txt": plannedConfig("made", "0", "one")})
	app := w.application()
	app.ObjectMeta = metav1.ObjectMeta{Namespace: w.control, Name: "plugged"}
	app.Spec.Source.Path, app.Spec.Source.Plugin, app.Status = "plugged", &v1alpha1.ApplicationSourcePlugin{Name: "mine"}, v1alpha1.ApplicationStatus{}
	if err := w.client.Create(w.Context(), app); err != nil {
		w.Fatal(err)
	}
	if stdout, _ := w.cli(exitOK, "plan", "--app", "plugged", "--plugins", dir); !strings.Contains(stdout, "create   ConfigMap/made") {
		w.Errorf("the plan of a plugin:\n%s", stdout)
	}
	if stdout, _ := w.cli(exitFailed, "app", "diff", "plugged", "--plugins", dir); !strings.Contains(stdout, fmt.Sprintf("ConfigMap %s/made", w.target)) {
		w.Errorf("the differences of a plugin:\n%s", stdout)
	}
	if _, stderr := w.cli(exitFailed, "plan", "--app", "plugged"); !strings.Contains(stderr, "has no plugins (--plugins)") {
		w.Errorf("without the plugin: %s", stderr)
	}
}
