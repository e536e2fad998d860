// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

// example reads the files of an example.
func example(t *testing.T, name string) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := os.DirFS(filepath.Join("..", "..", "examples", name))
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// story is what --timeline-out wrote.
type story struct {
	t       *testing.T
	moments []timeline.Moment
	proofs  []timeline.Proof
}

func readStory(t *testing.T, file string) story {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return story{t: t, moments: r.Moments, proofs: r.Proofs}
}

// the returns the only moment of an object.
func (s story) the(what timeline.What, kind, name string) timeline.Moment {
	s.t.Helper()
	var found []timeline.Moment
	for _, m := range s.moments {
		if m.What == what && m.Key.Kind == kind && m.Key.Name == name {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		s.t.Fatalf("%s/%s %s %d times, want once", kind, name, what, len(found))
	}
	if found[0].Inferred {
		s.t.Errorf("%s/%s %s was only inferred", kind, name, what)
	}
	return found[0]
}

// precedes asserts that one thing happened before another, by resourceVersion.
func (s story) precedes(before, after timeline.Moment) {
	s.t.Helper()
	if before.ResourceVersion >= after.ResourceVersion {
		s.t.Errorf("%s %s (%d) does not precede %s %s (%d)",
			before.Key.Short(), before.What, before.ResourceVersion, after.Key.Short(), after.What, after.ResourceVersion)
	}
}

// TestUpBringsTheExampleUpInOrder is the promise of the whole: four services come
// up in exactly the order of their page, and the API server's own events prove
// it.
func TestUpBringsTheExampleUpInOrder(t *testing.T) {
	repo := gittest.New(t, example(t, "ask"))
	file := filepath.Join(t.TempDir(), "timeline.json")
	r := start(t, "up", repo.Dir, "--exit-when-synced", "--timeout", "3m", "--timeline-out", file)
	if code := r.exit(t, 4*time.Minute); code != exitOK {
		t.Fatalf("exit code %d, want 0:\n%s%s", code, r.err, r.out)
	}
	s := readStory(t, file)

	gates := map[string]int{}
	for _, p := range s.proofs {
		gates[p.App]++
		if !p.Holds {
			t.Errorf("%s, %s: %s", p.App, p.Gate, p)
		}
	}
	for app, atLeast := range map[string]int{"ask": 1, "platform": 2, "assistant-service": 5, "knowledge-management-service": 5, "core-service": 9, "frontend": 1} {
		if gates[app] < atLeast {
			t.Errorf("%s: %d statements about its order, want at least %d", app, gates[app], atLeast)
		}
		if !strings.Contains(r.out.String(), "\n"+app+": ") {
			t.Errorf("%s is not in the timeline and the proof:\n%s", app, r.out)
		}
	}

	for app, jobs := range map[string]struct {
		inits     []string
		migration string
		later     int
	}{
		"assistant-service":            {[]string{"assistant-service-postgres-role-init"}, "assistant-service-migration", 3},
		"knowledge-management-service": {[]string{"knowledge-management-service-postgres-role-init"}, "knowledge-management-service-migration", 4},
		"core-service":                 {[]string{"core-service-postgres-role-init", "core-service-zitadel-zitadel-postgres-role-init"}, "core-service-migrations", 1},
	} {
		migrates, migrated := s.the(timeline.Created, "Job", jobs.migration), s.the(timeline.Done, "Job", jobs.migration)
		for _, name := range jobs.inits {
			s.precedes(s.the(timeline.Done, "Job", name), migrates)
		}
		later := 0
		for _, m := range s.moments {
			if m.App == app && m.What == timeline.Created && m.Key.Kind == "Deployment" && m.Phase == manifest.Sync && m.Wave > migrates.Wave {
				later++
				s.precedes(migrated, m)
			}
		}
		if later != jobs.later {
			t.Errorf("%s: %d Deployments after the migration, want %d", app, later, jobs.later)
		}
	}
	s.secretsFirst()
}

// secretsFirst asserts that the Secret of an ExternalSecret exists before a
// Deployment that mounts it, inside one group, too.
func (s story) secretsFirst() {
	s.t.Helper()
	made := 0
	for _, m := range s.moments {
		if m.What != timeline.Created || m.Key.Kind != "Deployment" {
			continue
		}
		for _, need := range m.Needs {
			isMade := slices.ContainsFunc(s.moments, func(o timeline.Moment) bool { return o.Key == need && o.App == "" && o.What == timeline.Created })
			if need.Kind == "Secret" && isMade {
				made++
				s.precedes(s.the(timeline.Created, "Secret", need.Name), m)
			}
		}
	}
	if made < 10 {
		s.t.Errorf("%d Deployments need a Secret that is made for them, want at least 10", made)
	}
	frontend := s.the(timeline.Created, "Deployment", "frontend")
	secret := s.the(timeline.Created, "Secret", "frontend-secret")
	asks := s.the(timeline.Created, "ExternalSecret", "frontend-external-secret")
	if frontend.Phase != asks.Phase || frontend.Wave != asks.Wave {
		s.t.Errorf("frontend is in %s/%d and its ExternalSecret in %s/%d, want one group", frontend.Phase, frontend.Wave, asks.Phase, asks.Wave)
	}
	s.precedes(asks, secret)
	s.precedes(secret, frontend)
}

// shop is a small repository: a Job before a Deployment.
func shop() map[string]string {
	return map[string]string{
		".wavetrain.yaml": "repository: https://git.example.com/acme/shop.git\n",
		"shop.yaml": `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec:
  project: default
  source: {repoURL: "git@git.example.com:acme/shop.git", path: manifests}
  destination: {server: "https://kubernetes.default.svc", namespace: shop}
  syncPolicy:
    automated: {prune: true}
    syncOptions: [CreateNamespace=true]
`,
		"manifests/settings.yaml": settingsManifest("small"),
		"manifests/migrate.yaml":  hook("migrate"),
		"manifests/api.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec: {containers: [{name: main, image: "shop:1"}]}
`,
	}
}

// hook is a Job that runs before everything else.
func hook(name string) string {
	return `apiVersion: batch/v1
kind: Job
metadata: {name: ` + name + `, annotations: {argocd.argoproj.io/hook: PreSync}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "shop:1", command: [` + name + `]}]
`
}

func settingsManifest(size string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {size: " + size + "}\n"
}

// TestUpFollowsCommits is a person at work: bring up, look, change, look again,
// stop.
func TestUpFollowsCommits(t *testing.T) {
	repo := gittest.New(t, shop())
	kubeconfig, rules := filepath.Join(t.TempDir(), "kubeconfig"), filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rules, []byte("rules:\n- match: {kind: Job, name: stuck}\n  neverFinish: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, "up", repo.Dir, "--kubeconfig-out", kubeconfig, "--nodes", "1", "--rules", rules)
	r.err.await(t, "Ctrl-C takes everything down", 2*time.Minute)
	if !strings.Contains(r.out.String(), "< Sync/0") {
		t.Errorf("no proof that the Job precedes the Deployment:\n%s", r.out)
	}

	expect := func(reason string, wantCode int, wantOut string, args ...string) {
		t.Helper()
		code, stdout, stderr := call(t, append(args, "--kubeconfig", kubeconfig)...)
		if code != wantCode || !strings.Contains(stdout+stderr, wantOut) {
			t.Errorf("%s: `wavetrain %s` exits with %d, want %d with %q in\n%s%s", reason, strings.Join(args, " "), code, wantCode, wantOut, stdout, stderr)
		}
	}
	expect("it is in order", exitOK, "shop   Synced   Healthy", "app", "list")
	expect("scripts want names", exitOK, "application.argoproj.io/shop\n", "app", "list", "-o", "name")
	expect("its objects are shown", exitOK, "Deployment", "app", "get", "shop")
	expect("there is nothing to wait for", exitOK, "", "app", "wait", "shop", "--timeout", "3m")
	expect("nothing differs", exitOK, "", "app", "diff", "shop")
	expect("the operation is remembered", exitOK, "operation:", "app", "record", "shop")
	expect("an unknown name is an error", exitFailed, "", "app", "get", "nobody")
	expect("a diff of nothing is an error of its own", exitDiffFailed, "", "app", "diff", "nobody")

	repo.Commit("grow", map[string]string{"manifests/settings.yaml": settingsManifest("large")})
	commit := shortRevision(repo.Git("rev-parse", "HEAD"))
	r.err.await(t, "Everything is Synced and Healthy at commit "+commit, time.Minute)
	expect("the commit is rolled out", exitOK, commit, "app", "list")
	expect("a former revision differs", exitFailed, "-  size: large\n+  size: small", "app", "diff", "shop", "--revision", repo.Git("rev-parse", "HEAD~1"))
	expect("for programs", exitOK, `"path": "data.size"`, "app", "diff", "shop", "--revision", repo.Git("rev-parse", "HEAD~1"), "-o", "json", "--exit-code=false")
	expect("a sync on request", exitOK, "", "app", "sync", "shop", "--timeout", "3m")

	repo.Commit("get stuck", map[string]string{"manifests/stuck.yaml": hook("stuck")})
	r.err.await(t, "waiting for completion of hook batch/Job/stuck", time.Minute)
	expect("a wait says what was missing", exitTimeout, "shop: time is up after 5s: operation running: ", "app", "wait", "shop", "--timeout", "5")
	expect("two operations at once are one too many", exitFailed, "another operation is in progress", "app", "sync", "shop")
	expect("a person ends it", exitOK, "operation is being terminated", "app", "terminate-op", "shop")
	expect("and it has failed", exitFailed, "Operation terminated", "app", "wait", "shop", "--operation", "--timeout", "3m")
	expect("there is nothing left to end", exitFailed, "no operation is running", "app", "terminate-op", "shop")
	repo.Commit("get going", map[string]string{"manifests/stuck.yaml": "-"})
	commit = shortRevision(repo.Git("rev-parse", "HEAD"))
	r.err.await(t, "Everything is Synced and Healthy at commit "+commit, time.Minute)

	r.stop()
	if code := r.exit(t, 30*time.Second); code != exitOK {
		t.Errorf("exit code %d after Ctrl-C, want 0:\n%s", code, r.err)
	}
	if _, err := os.Stat(kubeconfig); err == nil {
		t.Error("the kubeconfig of a control plane that is gone is still there")
	}
}

// What the objects that are applied by hand say about namespaces of Applications
// counts from the beginning.
func TestUpWithApplicationsInTheirOwnNamespace(t *testing.T) {
	files := shop()
	app := strings.ReplaceAll(strings.ReplaceAll(files["shop.yaml"], "namespace: argocd", "namespace: team-a"), "project: default", "project: team")
	delete(files, "shop.yaml")
	files["bootstrap/app.yaml"] = app + `---
apiVersion: v1
kind: Namespace
metadata: {name: team-a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cmd-params-cm, namespace: argocd}
data: {application.namespaces: "team-*"}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: team, namespace: argocd}
spec:
  sourceRepos: ["*"]
  destinations: [{server: "*", namespace: "*"}]
  clusterResourceWhitelist: [{group: "*", kind: "*"}]
  sourceNamespaces: [team-a]
`
	r := start(t, "up", gittest.New(t, files).Dir, "--exit-when-synced", "--timeout", "3m", "--nodes", "1")
	if code := r.exit(t, 4*time.Minute); code != exitOK {
		t.Errorf("exit code %d:\n%s", code, r.err)
	}
}

func TestUpGivesUpInTime(t *testing.T) {
	r := start(t, "up", gittest.New(t, shop()).Dir, "--exit-when-synced", "--timeout", "1", "--nodes", "1")
	if code := r.exit(t, time.Minute); code != exitTimeout {
		t.Errorf("exit code %d, want %d", code, exitTimeout)
	}
	if want := "error: time is up after 1s"; !strings.Contains(r.err.String(), want) {
		t.Errorf("want %q in\n%s", want, r.err)
	}
}

func TestUpInterrupted(t *testing.T) {
	repo := gittest.New(t, shop())
	r := start(t, "up", repo.Dir, "--nodes", "1")
	r.err.await(t, "control plane is starting", time.Minute)
	r.stop()
	if code := r.exit(t, 30*time.Second); code != exitInterrupted {
		t.Errorf("exit code %d, want %d:\n%s", code, exitInterrupted, r.err)
	}
	if want := "taking everything down"; !strings.Contains(r.err.String(), want) {
		t.Errorf("want %q in\n%s", want, r.err)
	}
}

func TestUpFailsWhenAnApplicationCannotBeRolledOut(t *testing.T) {
	files := shop()
	files["manifests/api.yaml"] = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: [\n"
	said := newTalk()
	streams := Streams{Out: newTalk(), Err: said, Env: func(string) string { return "" }, Environ: gittest.Env()}
	err := newUp(streams, gittest.New(t, files).Dir, upFlags{whenSynced: true, giveUp: time.Second, nodes: 1}).run(t.Context())
	var coded *exitError
	if !errors.As(err, &coded) || coded.code != exitFailed {
		t.Errorf("got %v, want exit code %d", err, exitFailed)
	}
	if want := "shop: ComparisonError: manifests/api.yaml:"; !strings.Contains(said.String(), want) {
		t.Errorf("want %q in\n%s", want, said)
	}
}
