// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/plugin"
	"github.com/wavetrain/wavetrain/internal/render/worker"
)

// The test binary limits itself and becomes the program, as the real one does.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "render-program" {
		seconds, err := strconv.Atoi(os.Args[2])
		if err == nil {
			err = worker.Become(seconds, os.Args[3:], os.Environ())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func runner(t *testing.T, limits worker.Limits, descriptions ...string) *plugin.Runner {
	t.Helper()
	dir := t.TempDir()
	for i, text := range descriptions {
		file := filepath.Join(dir, fmt.Sprintf("p%d.yaml", i))
		if i%2 == 1 {
			file = filepath.Join(dir, fmt.Sprintf("p%d", i), "plugin.yaml")
			if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		text = "apiVersion: argoproj.io/v1alpha1\nkind: ConfigManagementPlugin\n" + text
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plugins, err := plugin.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &plugin.Runner{Plugins: plugins, Path: os.Getenv("PATH"), Limits: limits, Command: []string{self, "render-program"}}
}

func shell(name, script string) string {
	return "metadata: {name: " + name + "}\nspec: {generate: {command: [sh, -c], args: [" + strconv.Quote(script) + "]}}\n"
}

// printed makes a script that prints variables as the data of an object.
func printed(variables ...string) string {
	script := "printf 'apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: made}\\ndata:\\n'"
	for _, v := range variables {
		script += "; printf '  " + v + ": \"%s\"\\n' \"$" + v + "\""
	}
	return script
}

func source(options *v1alpha1.ApplicationSourcePlugin) render.Source {
	return render.Source{Path: "app", Plugin: options, Files: fstest.MapFS{
		"app/input.txt": {Data: []byte("from the repository")}, "beside/more.txt": {Data: []byte("from beside it")},
	}}
}

// refuse stands for the renderers that are asked where no plugin is for a source.
func refuse(context.Context, render.Source, render.Target) (render.Result, error) {
	return render.Result{}, errors.New("no plugin was taken")
}

func data(t *testing.T, result render.Result) map[string]any {
	t.Helper()
	if len(result.Objects) != 1 {
		t.Fatalf("%d objects", len(result.Objects))
	}
	d, _ := result.Objects[0].Object["data"].(map[string]any)
	return d
}

func TestAPluginSeesItsFilesAndItsParameters(t *testing.T) {
	script := "IN=$(cat input.txt); BESIDE=$(cat ../beside/more.txt); INIT=$(cat init.txt); " +
		printed("IN", "BESIDE", "INIT", "ARGOCD_ENV_WHO", "PARAM_VALUES_FILES_1", "PARAM_SET_A_B", "PARAM_NAME", "ARGOCD_APP_NAME", "KUBE_VERSION", "SECRET_OF_THE_CONTROLLER", "PWD_IS_APP")
	text := "metadata: {name: mine}\nspec: {version: v1, init: {command: [sh, -c, 'echo -n initialised > init.txt']}, generate: {command: [sh, -c], args: [" + strconv.Quote(script) + "]}}\n"
	t.Setenv("SECRET_OF_THE_CONTROLLER", "must not be seen")
	name := "nobody"
	options := &v1alpha1.ApplicationSourcePlugin{
		Name: "mine-v1", Env: []v1alpha1.EnvEntry{{Name: "WHO", Value: "$ARGOCD_APP_NAME!"}},
		Parameters: []v1alpha1.PluginParameter{{Name: "values-files", Array: []string{"a", "b"}}, {Name: "set", Map: map[string]string{"a.b": "c"}}, {Name: "name", String: &name}},
	}
	result, err := runner(t, worker.Limits{}, text).Around(refuse)(t.Context(), source(options), render.Target{
		AppName: "shop", KubeVersion: "v1.37.2", Env: map[string]string{"ARGOCD_APP_NAME": "shop"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"IN": "from the repository", "BESIDE": "from beside it", "INIT": "initialised", "ARGOCD_ENV_WHO": "shop!",
		"PARAM_VALUES_FILES_1": "b", "PARAM_SET_A_B": "c", "PARAM_NAME": "nobody", "ARGOCD_APP_NAME": "shop", "KUBE_VERSION": "1.37.2",
		"SECRET_OF_THE_CONTROLLER": "", "PWD_IS_APP": "",
	}
	if diff := cmp.Diff(want, data(t, result)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if result.Tool != "Plugin" {
		t.Errorf("tool %s", result.Tool)
	}
}

func TestDiscovery(t *testing.T) {
	discover := func(name, how string) string {
		return "metadata: {name: " + name + "}\nspec: {discover: " + how + ", generate: {command: [sh, -c], args: [" + strconv.Quote("WHO="+name+"; "+printed("WHO")) + "]}}\n"
	}
	for how, found := range map[string]bool{
		`{fileName: "./in*.txt"}`: true, `{fileName: other.txt}`: false,
		`{find: {glob: "**/input.txt"}}`: true, `{find: {glob: "**/other.txt"}}`: false,
		`{find: {command: [sh, -c, ls input.txt]}}`: true, `{find: {command: [sh, -c, "true"]}}`: false,
	} {
		result, err := runner(t, worker.Limits{}, discover("one", `{fileName: nothing.txt}`), discover("two", how)).Around(refuse)(t.Context(), source(nil), render.Target{AppName: "shop"})
		if (err == nil) != found {
			t.Errorf("%s: %v", how, err)
		} else if found && data(t, result)["WHO"] != "two" {
			t.Errorf("%s: the wrong plugin", how)
		}
	}
	src := source(nil)
	src.Directory = &v1alpha1.ApplicationSourceDirectory{Recurse: true}
	if _, err := runner(t, worker.Limits{}, discover("one", `{fileName: input.txt}`)).Around(refuse)(t.Context(), src, render.Target{AppName: "shop"}); err == nil || err.Error() != "no plugin was taken" {
		t.Errorf("a source with options of a tool is not for plugins: %v", err)
	}
}

func TestAPluginHasLimits(t *testing.T) {
	cases := map[string]struct {
		script string
		limits worker.Limits
		want   string
	}{
		"Wall":   {"sleep 60", worker.Limits{Wall: 300 * time.Millisecond}, "time (300ms)"},
		"Child":  {"sleep 60 & sleep 60", worker.Limits{Wall: 300 * time.Millisecond}, "time (300ms)"},
		"CPU":    {"while true; do :; done", worker.Limits{CPU: time.Second}, "processor time (1s)"},
		"Output": {"yes", worker.Limits{Output: 1 << 20}, "output (1 MiB)"},
		"Memory": {"head -c 400000000 /dev/zero | tail", worker.Limits{Memory: 128 << 20}, "memory (128 MiB)"},
		"Failed": {"echo it is broken >&2; exit 3", worker.Limits{}, "it is broken"},
		"Text":   {"echo '{'", worker.Limits{}, "of its output"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := runner(t, tc.limits, shell("bad", tc.script)).Around(refuse)(t.Context(), source(&v1alpha1.ApplicationSourcePlugin{Name: "bad"}), render.Target{AppName: "shop"})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want %q, got %v", tc.want, err)
			}
		})
	}
}

func TestWhatAPluginMakesDifferentlyIsNoted(t *testing.T) {
	result, err := runner(t, worker.Limits{}, shell("dice", "R=$(head -c 9 /dev/urandom | base64); SAME=x; "+printed("R", "SAME"))).Around(refuse)(t.Context(), source(&v1alpha1.ApplicationSourcePlugin{Name: "dice"}), render.Target{AppName: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if f := result.Unstable.Fields; len(f) != 1 || f[0].Path[1] != "R" {
		t.Errorf("unstable: %+v", f)
	}
}

func TestFaultsOfDescriptionsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"kind: Other\n": "kind", "kind: ConfigManagementPlugin\n": "metadata.name", "kind: ConfigManagementPlugin\nmetadata: {name: a}\n": "spec.generate.command", "kind: [": "p.yaml",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := plugin.Load(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v does not name %s", text, err, want)
		}
	}
	_, err := runner(t, worker.Limits{}, shell("a", "true")).Around(refuse)(t.Context(), source(&v1alpha1.ApplicationSourcePlugin{Name: "b"}), render.Target{AppName: "shop"})
	if err == nil || !strings.Contains(err.Error(), `no plugin "b"`) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("a plugin that does not exist: %v", err)
	}
}

// identified is a tree that knows the ids of what lies in it: its text.
type identified struct{ fstest.MapFS }

func (f identified) ObjectID(name string) string {
	var id strings.Builder
	for _, file := range slices.Sorted(maps.Keys(f.MapFS)) {
		if name == "." || file == name || strings.HasPrefix(file, name+"/") {
			id.WriteString(file + string(f.MapFS[file].Data))
		}
	}
	return id.String()
}

func TestAPluginGetsWhatTheAnnotationNames(t *testing.T) {
	files := func(changes ...string) identified {
		tree := identified{fstest.MapFS{}}
		for _, name := range []string{"app/input.txt", "shared/a.txt", "shared/deep/b.txt", "other/c.txt", "env/dev.yaml", "env/dev.txt"} {
			tree.MapFS[name] = &fstest.MapFile{Data: []byte("one")}
		}
		for _, name := range changes {
			tree.MapFS[name] = &fstest.MapFile{Data: []byte("another")}
		}
		return tree
	}
	script := "FOUND=$(cd .. && find . -type f | sort | tr '\\n' ' '); " + printed("FOUND")
	run := runner(t, worker.Limits{}, shell("list", script)).Around(refuse)
	src := render.Source{Path: "app", Plugin: &v1alpha1.ApplicationSourcePlugin{Name: "list"}, Files: files(), Relevant: []string{"app", "env/*.yaml", "shared/deep"}}
	result, err := run(t.Context(), src, render.Target{AppName: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := data(t, result)["FOUND"], "./app/input.txt ./env/dev.yaml ./shared/deep/b.txt "; got != want {
		t.Errorf("it got %v", got)
	}
	for change, holds := range map[string]bool{
		"other/c.txt": true, "shared/a.txt": true, "env/dev.txt": true, "new/x.txt": false, // a directory where a pattern may match
		"app/input.txt": false, "shared/deep/b.txt": false, "shared/deep/new.txt": false, "env/dev.yaml": false, "env/new.yaml": false,
	} {
		now := src
		now.Files = files(change)
		if got := render.Holds(t.Context(), result.Trace, now, render.Target{AppName: "shop"}); got != holds {
			t.Errorf("after a change of %s the rendering holds: %v", change, got)
		}
	}
}

func TestParametersAreAnnounced(t *testing.T) {
	text := `metadata: {name: mine}
spec:
  generate: {command: ["true"]}
  parameters:
    static:
    - {name: size, title: How large, required: true, string: "3"}
    - {name: hosts, collectionType: array, array: [a, b]}
    dynamic: {command: [sh, -c], args: ["cat input.txt >/dev/null && printf '[{\"name\": \"found\", \"collectionType\": \"map\", \"map\": {\"in\": \"%s\"}}, {\"name\": \"size\", \"string\": \"9\"}]' \"$ARGOCD_APP_NAME\""]}
`
	target := render.Target{AppName: "shop", Env: map[string]string{"ARGOCD_APP_NAME": "shop"}}
	got, err := runner(t, worker.Limits{}, text).Parameters(t.Context(), source(&v1alpha1.ApplicationSourcePlugin{Name: "mine"}), target)
	if err != nil {
		t.Fatal(err)
	}
	want := &plugin.Announced{Plugin: "mine", Parameters: []plugin.Announcement{
		{Name: "found", ItemType: "string", CollectionType: "map", Map: map[string]string{"in": "shop"}},
		{Name: "size", Title: "How large", Required: true, ItemType: "string", CollectionType: "string", String: "3"},
		{Name: "hosts", ItemType: "string", CollectionType: "array", Array: []string{"a", "b"}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	bad := "metadata: {name: bad}\nspec: {generate: {command: ['true']}, parameters: {dynamic: {command: [echo, 'no list']}}}\n"
	if _, err := runner(t, worker.Limits{}, bad).Parameters(t.Context(), source(&v1alpha1.ApplicationSourcePlugin{Name: "bad"}), target); err == nil || !strings.Contains(err.Error(), "plugin bad: parameters: echo did not print") {
		t.Errorf("got %v", err)
	}
}
