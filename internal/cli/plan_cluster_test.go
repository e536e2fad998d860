// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

const plannedWorkload = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {argocd.argoproj.io/sync-wave: "1"}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: "registry.example.com/web:%s", readinessProbe: {initialDelaySeconds: 1, periodSeconds: 1, exec: {command: ["true"]}}}
`

func plannedConfig(name, wave, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, annotations: {argocd.argoproj.io/sync-wave: %q}}\ndata: {v: %q}\n", name, wave, value)
}

func plannedSecret(value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: access}\nstringData: {password: %q}\n", value)
}

func plannedHook(command string) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {argocd.argoproj.io/hook: PreSync}}
spec:
  activeDeadlineSeconds: 300
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: "registry.example.com/migrate:1", command: [%q]}]}}
`, command)
}

// plannedWorld is a controller, as an operator runs it, with an Application that is
// synced by hand.
type plannedWorld struct {
	*testing.T
	env             *sandboxtest.Env
	client          client.Client
	control, target string
	// name of the Application: none that another test's has, as tests share a cluster.
	name string
	repo *gittest.Repository
	// log is what the controller says.
	log *talk

	mu   sync.Mutex
	seen []timeline.Sighting
}

func newPlannedWorld(t *testing.T, files map[string]string) *plannedWorld {
	t.Helper()
	w := withoutController(t, "shop", files)
	w.log = start(t, w.serving()...).err
	w.begin()
	return w
}

// serving is the command line of the controller.
func (w *plannedWorld) serving() []string {
	return []string{"serve", "--kubeconfig", w.env.Kubeconfig, "-n", w.control, "--health-address", "", "--metrics-address", "", "--poll-interval", "5s"}
}

// withoutController is all that a controller needs.
func withoutController(t *testing.T, name string, files map[string]string) *plannedWorld {
	t.Helper()
	env := sandboxtest.Start(t, sandboxtest.Options{Nodes: 1})
	install(t, env.Config)
	scheme, err := apiScheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	// A kind that was installed a moment ago may not be served yet.
	for deadline := time.Now().Add(time.Minute); c.List(t.Context(), &v1alpha1.ApplicationList{}) != nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("Applications are not served")
		}
	}
	w := &plannedWorld{T: t, env: env, client: c, name: name, control: env.Namespace(t), target: env.Namespace(t), repo: gittest.New(t, files)}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(stop)
	if _, err := timeline.Watch(ctx, env.Config, w.see); err != nil {
		t.Fatal(err)
	}
	return w
}

// begin makes the Application.
func (w *plannedWorld) begin() {
	w.Helper()
	// The controller makes the project that the Application is of.
	project := client.ObjectKey{Namespace: w.control, Name: v1alpha1.DefaultProject}
	for deadline := time.Now().Add(time.Minute); w.client.Get(w.Context(), project, &v1alpha1.AppProject{}) != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatal("there is no project default")
		}
	}
	app := &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.control, Name: w.name, Labels: map[string]string{"team": "shop"}},
		Spec: v1alpha1.ApplicationSpec{
			Source:      &v1alpha1.ApplicationSource{RepoURL: w.repo.URL, Path: "app", TargetRevision: "main"},
			Destination: v1alpha1.ApplicationDestination{Server: v1alpha1.InClusterServer, Namespace: w.target},
		},
	}
	if err := w.client.Create(w.Context(), app); err != nil {
		w.Fatal(err)
	}
}

func (w *plannedWorld) see(s timeline.Sighting) {
	// Children have the annotations of their owners.
	if s.Object.GetNamespace() != w.target || len(s.Object.GetOwnerReferences()) > 0 || s.Object.GetAnnotations()[manifest.AnnotationTrackingID] == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, s)
}

// forget begins a new list of what is done on the cluster.
func (w *plannedWorld) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	// What is there stays known as it was seen last.
	last := map[types.UID]timeline.Sighting{}
	for _, s := range w.seen {
		s.Created = false
		last[s.Object.GetUID()] = s
	}
	w.seen = nil
	for _, s := range last {
		if !s.Deleted {
			w.seen = append(w.seen, s)
		}
	}
}

// done is what the API server has shown to be done, "update Deployment/web" and the
// like, in the order of resourceVersions.
func (w *plannedWorld) done() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := slices.Clone(w.seen)
	version := func(s timeline.Sighting) int {
		n, err := strconv.Atoi(s.Object.GetResourceVersion())
		if err != nil {
			w.Error(err)
		}
		return n
	}
	slices.SortStableFunc(seen, func(a, b timeline.Sighting) int { return cmp.Compare(version(a), version(b)) })
	var list []string
	content := map[types.UID]string{}
	for _, s := range seen {
		hook := s.Object.GetAnnotations()[manifest.AnnotationHook] != ""
		name := s.Object.GetKind() + "/" + s.Object.GetName()
		data, err := json.Marshal([]any{s.Object.Object["spec"], s.Object.Object["data"]})
		if err != nil {
			w.Error(err)
		}
		before, known := content[s.Object.GetUID()]
		content[s.Object.GetUID()] = string(data)
		switch {
		case s.Created && hook:
			list = append(list, "hook "+name)
		case hook:
		case s.Created:
			list = append(list, "create "+name)
		case s.Deleted:
			list = append(list, "delete "+name)
		case known && before != string(data):
			list = append(list, "update "+name)
		}
	}
	return list
}

// cli runs a command on the cluster.
func (w *plannedWorld) cli(want int, args ...string) (stdout, stderr string) {
	w.Helper()
	r := start(w.T, append(args, "--kubeconfig", w.env.Kubeconfig, "-n", w.control)...)
	if code := r.exit(w.T, 3*time.Minute); code != want {
		w.Fatalf("%v exits with %d, want %d:\n%s%s\n%s", args, code, want, r.out, r.err, w.log)
	}
	return r.out.String(), r.err.String()
}

// planned makes a plan and returns its file and what it says is to be done, group by
// group.
func (w *plannedWorld) planned(args ...string) (file string, groups [][]string) {
	w.Helper()
	file = filepath.Join(w.TempDir(), "plan.json")
	w.cli(exitChanges, append([]string{"plan", "--app", w.name, "--prune", "true", "--detailed-exitcode", "--out", file}, args...)...)
	data, err := os.ReadFile(file)
	if err != nil {
		w.Fatal(err)
	}
	var f struct {
		Apps []struct {
			Groups []struct {
				Steps []struct{ Action, Object string }
			}
		}
	}
	if err := json.Unmarshal(data, &f); err != nil {
		w.Fatal(err)
	}
	for _, g := range f.Apps[0].Groups {
		var steps []string
		for _, s := range g.Steps {
			if s.Action != "none" {
				steps = append(steps, s.Action+" "+s.Object)
			}
		}
		if len(steps) > 0 {
			groups = append(groups, steps)
		}
	}
	return file, groups
}

// sync carries a plan out.
func (w *plannedWorld) sync(want int, file string) string {
	w.Helper()
	_, stderr := w.cli(want, "sync", "--plan", file, "--timeout", "2m")
	return stderr
}

// asPlanned compares what was done with the plan: the same, one group behind the
// other.
func (w *plannedWorld) asPlanned(groups [][]string) {
	w.Helper()
	var done []string
	all := slices.Concat(groups...)
	deadline := time.Now().Add(time.Minute)
	// The watches may be behind the end of the sync.
	for done = w.done(); len(done) < len(all) && time.Now().Before(deadline); done = w.done() {
		time.Sleep(50 * time.Millisecond)
	}
	at := 0
	for _, g := range groups {
		end := min(at+len(g), len(done))
		got := slices.Sorted(slices.Values(done[at:end]))
		if !slices.Equal(got, slices.Sorted(slices.Values(g))) {
			w.Errorf("done %q, planned %q: the group %q was carried out as %q", done, groups, g, got)
		}
		at = end
	}
	if at < len(done) {
		w.Errorf("done %q, planned %q: %q was done as well", done, groups, done[at:])
	}
}

func (w *plannedWorld) application() *v1alpha1.Application {
	w.Helper()
	app := &v1alpha1.Application{}
	if err := w.client.Get(w.Context(), types.NamespacedName{Namespace: w.control, Name: w.name}, app); err != nil {
		w.Fatal(err)
	}
	return app
}

func (w *plannedWorld) patch(obj client.Object, text string) {
	w.Helper()
	if err := w.client.Patch(w.Context(), obj, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
		w.Fatal(err)
	}
}

// shown waits until the watch has shown an object as it was returned.
func (w *plannedWorld) shown(obj client.Object) {
	w.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		w.mu.Lock()
		found := slices.ContainsFunc(w.seen, func(s timeline.Sighting) bool {
			return s.Object.GetUID() == obj.GetUID() && s.Object.GetResourceVersion() == obj.GetResourceVersion()
		})
		w.mu.Unlock()
		if found {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("the watch has not shown %s", obj.GetName())
		}
	}
}

func (w *plannedWorld) value(name string) string {
	w.Helper()
	m := &corev1.ConfigMap{}
	if err := w.client.Get(w.Context(), types.NamespacedName{Namespace: w.target, Name: name}, m); err != nil {
		w.Fatal(err)
	}
	return m.Data["v"]
}

// What a plan says is what its sync does, and nothing else is done if the world has
// moved.
func TestPlanThenSync(t *testing.T) {
	const first, second = "first-secret-value", "second-secret-value"
	w := newPlannedWorld(t, map[string]string{
		"app/a.yaml": plannedConfig("a", "0", "one"), "app/old.yaml": plannedConfig("old", "0", "one"), "app/same.yaml": plannedConfig("same", "2", "one"),
		"app/last.yaml": plannedConfig("last", "2", "one"), "app/web.yaml": fmt.Sprintf(plannedWorkload, "1"), "app/hook.yaml": plannedHook("one"), "app/secret.yaml": plannedSecret(first),
	})
	file, groups := w.planned()
	if want := "[[hook Job/migrate] [create Secret/access create ConfigMap/a create ConfigMap/old] [create Deployment/web] [create ConfigMap/last create ConfigMap/same]]"; fmt.Sprint(groups) != want {
		t.Errorf("planned %v\nwant    %s", groups, want)
	}
	w.sync(exitOK, file)
	w.asPlanned(groups)
	if stderr := w.sync(exitMoved, file); !strings.Contains(stderr, "exists by now") {
		t.Errorf("the plan once more: %s", stderr)
	}

	commit := w.repo.Commit("two", map[string]string{
		"app/a.yaml": plannedConfig("a", "0", "two"), "app/old.yaml": "-", "app/new.yaml": plannedConfig("new", "2", "two"),
		"app/last.yaml": plannedConfig("last", "2", "two"), "app/web.yaml": fmt.Sprintf(plannedWorkload, "2"), "app/secret.yaml": plannedSecret(second),
	})
	file, groups = w.planned()
	want := "[[hook Job/migrate] [delete ConfigMap/old update Secret/access update ConfigMap/a] [update Deployment/web] [update ConfigMap/last create ConfigMap/new]]"
	if fmt.Sprint(groups) != want {
		t.Errorf("planned %v\nwant    %s", groups, want)
	}
	if stdout, _ := w.cli(exitOK, "plan", "--app", "shop"); !strings.Contains(stdout, "PreSync/0 Job/migrate: until it has completed, 5m at most (activeDeadlineSeconds); in the last release ") ||
		!strings.Contains(stdout, "Sync/1 Deployment/web 2s: 2 rounds for 2 Pods, 1s each") || !strings.Contains(stdout, "keep     ConfigMap/old") {
		t.Errorf("the plan as text:\n%s", stdout)
	}
	w.holdsNoSecret(file, first, second)
	w.refusesWhatMoved(file)

	w.repo.Commit("three", map[string]string{"app/a.yaml": plannedConfig("a", "0", "three")})
	w.forget()
	w.sync(exitOK, file)
	w.asPlanned(groups)
	app := w.application()
	if state := app.Status.OperationState; state.SyncResult.Revision != commit || w.value("a") != "two" {
		t.Errorf("synced to %s with %q, planned was %s", state.SyncResult.Revision, w.value("a"), commit)
	} else if info := state.Operation.Info[0]; info.Name != controller.InfoPlan || len(info.Value) != 64 {
		t.Errorf("the operation that has ended keeps %d characters of its plan", len(info.Value))
	}
	w.refusesAnotherSpec()
	w.plansSeveral()
	w.heedsItsRepository()
	w.plansPlugins()
}

// plansSeveral plans an Application that is new, of which values come out differently
// each time, beside one to which nothing happens.
func (w *plannedWorld) plansSeveral() {
	w.Helper()
	w.repo.Commit("random", map[string]string{
		"random/Chart.yaml":          "apiVersion: v2\nname: random\nversion: 1.0.0\n",
		"random/templates/all.yaml":  "apiVersion: v1\nkind: Secret\nmetadata: {name: random}\nstringData: {password: {{ randAlphaNum 20 }}}\n",
		"random/templates/conf.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: random, annotations: {argocd.argoproj.io/sync-wave: \"1\"}}\ndata: {chance: {{ randAlphaNum 20 }}}\n",
	})
	app := w.application()
	app.ObjectMeta = metav1.ObjectMeta{Namespace: w.control, Name: "random", Labels: map[string]string{"team": "shop"}}
	app.Spec.Source.Path, app.Status = "random", v1alpha1.ApplicationStatus{}
	if err := w.client.Create(w.Context(), app); err != nil {
		w.Fatal(err)
	}
	file := filepath.Join(w.TempDir(), "several.json")
	stdout, _ := w.cli(exitOK, "plan", "--selector", "team=shop", "--out", file)
	if !strings.Contains(stdout, "random (new, ") || !strings.HasSuffix(stdout, "1 of 2 applications: 2 to create, 0 to update, 0 to delete, 0 hooks to run, 0 workloads to restart\n") {
		w.Errorf("the plan of several:\n%s", stdout)
	}
	if strings.Count(stdout, "[nondeterministic-render]") != 2 {
		w.Errorf("findings of the plan:\n%s", stdout)
	}
	w.sync(exitOK, file)
	w.cli(exitOK, "plan", "--all", "--detailed-exitcode")

	dir := filepath.Join(w.repo.Dir, "random")
	if err := os.WriteFile(filepath.Join(dir, "templates", "more.yaml"), []byte(plannedConfig("more", "0", "one")), 0o600); err != nil {
		w.Fatal(err)
	}
	if stdout, _ := w.cli(exitChanges, "plan", "--app", "random", "--local", dir, "--detailed-exitcode"); !strings.Contains(stdout, "create   ConfigMap/more") {
		w.Errorf("the plan of a directory:\n%s", stdout)
	}
	file = filepath.Join(w.repo.Dir, "random.yaml")
	manifest := fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: random, namespace: %s}\nspec:\n  source: {repoURL: %q, path: random, targetRevision: main}\n  destination: {server: %s, namespace: %s}\n",
		w.control, w.repo.URL, v1alpha1.InClusterServer, w.target)
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		w.Fatal(err)
	}
	if stdout, _ := w.cli(exitOK, "plan", "--live", file); !strings.Contains(stdout, "random (changed, local files)") || !strings.Contains(stdout, "1 of 1 application: 1 to create") {
		w.Errorf("the plan of files:\n%s", stdout)
	}
}

// holdsNoSecret fails if a kept plan has a value of a Secret in it.
func (w *plannedWorld) holdsNoSecret(file string, values ...string) {
	w.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		w.Fatal(err)
	}
	for _, value := range values {
		for _, form := range []string{value, base64.StdEncoding.EncodeToString([]byte(value))} {
			if strings.Contains(string(data), form) {
				w.Errorf("the plan holds the value of a Secret, as %q", form)
			}
		}
	}
	if !strings.Contains(string(data), "data.password") {
		w.Error("the plan does not name the key that changes")
	}
}

// refusesWhatMoved changes the cluster under a plan, in several ways, and back.
func (w *plannedWorld) refusesWhatMoved(file string) {
	w.Helper()
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: w.target, Name: name} }
	for _, c := range []struct {
		what       string
		obj        client.Object
		move, back string
		want       string
	}{
		{"a field that the plan changes", &corev1.ConfigMap{ObjectMeta: named("a")}, `{"data":{"v":"somebody"}}`, `{"data":{"v":"one"}}`, "ConfigMap/a (Sync/0) was changed on the cluster: data.v"},
		{"an object that was in sync", &corev1.ConfigMap{ObjectMeta: named("same")}, `{"data":{"v":"somebody"}}`, `{"data":{"v":"one"}}`, "ConfigMap/same (Sync/2) would now be updated as well: data.v"},
		{"a change that somebody has made already", &corev1.ConfigMap{ObjectMeta: named("last")}, `{"data":{"v":"two"}}`, `{"data":{"v":"one"}}`, "ConfigMap/last (Sync/2) would no longer be updated"},
	} {
		w.patch(c.obj, c.move)
		w.shown(c.obj)
		w.forget()
		stderr := w.sync(exitMoved, file)
		if !strings.Contains(stderr, c.want) {
			w.Errorf("%s: it says %s\nwant %s", c.what, stderr, c.want)
		}
		if done := w.done(); len(done) > 0 {
			w.Errorf("%s: although refused, it has done %q", c.what, done)
		}
		w.patch(c.obj, c.back)
		w.shown(c.obj)
	}
	secret := &corev1.Secret{ObjectMeta: named("access")}
	w.patch(secret, `{"data":{"password":"c29tZWJvZHk="}}`)
	if stderr := w.sync(exitMoved, file); !strings.Contains(stderr, "Secret/access (Sync/0) was changed on the cluster (resourceVersion ") || strings.Contains(stderr, "c29tZWJvZHk") {
		w.Errorf("a Secret that somebody has changed: %s", stderr)
	}
	w.shown(secret)
	// There is no way back from another resourceVersion: plan again, at the same commit.
	w.cli(exitOK, "plan", "--app", "shop", "--prune", "true", "--out", file)
}

// refusesAnotherSpec changes the Application after it was planned.
func (w *plannedWorld) refusesAnotherSpec() {
	w.Helper()
	file, _ := w.planned()
	app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: w.control, Name: "shop"}}
	w.patch(app, `{"spec":{"syncPolicy":{"syncOptions":["Replace=true"]}}}`)
	if stderr := w.sync(exitMoved, file); !strings.Contains(stderr, "the Application was changed: spec.syncPolicy.syncOptions[0]") {
		w.Errorf("another spec: %s", stderr)
	}
	w.patch(app, `{"spec":{"syncPolicy":null}}`)
	w.sync(exitOK, file)
}
