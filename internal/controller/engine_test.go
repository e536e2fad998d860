// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

// thirdParty is the control plane whose external-secrets controller is simulated.
func thirdParty() sandboxtest.Options {
	return sandboxtest.Options{RuleSets: []string{"external-secrets"}}
}

func TestDeliversAnApplication(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{
		"app/config.yaml": configMap("settings", "data: {colour: green}"),
		"app/web.yaml":    deployment("web", "0"),
	})
	head := repo.Git("rev-parse", "HEAD")
	writes, began := w.countWrites(), time.Now()
	name := w.app("shop", repo, "app")
	app := w.until(name, 30*time.Second, "converged", convergedAt(head))
	// One write says that the operation runs, one that it ended, one that the
	// Deployment has become healthy; while it takes its time, one in five seconds.
	most := 3 + int(time.Since(began)/(5*time.Second))
	if n := writes(name); n > most {
		t.Errorf("the Application was written %d times, want at most %d", n, most)
	}

	if got := len(app.Status.Resources); got != 2 {
		t.Errorf("status lists %d resources, want 2", got)
	}
	if len(app.Status.History) != 1 || app.Status.History[0].Revision != head {
		t.Errorf("history = %+v, want one entry at %s", app.Status.History, head)
	}
	if want := "registry.example.test/web:1"; len(app.Status.Summary.Images) != 1 || app.Status.Summary.Images[0] != want {
		t.Errorf("images = %v, want %s", app.Status.Summary.Images, want)
	}
	if app.Status.SourceType != v1alpha1.SourceTypeDirectory {
		t.Errorf("sourceType = %q", app.Status.SourceType)
	}
	var config corev1.ConfigMap
	if !w.exists("settings", &config) {
		t.Fatal("the ConfigMap is missing")
	}
	if got, want := config.Annotations["argocd.argoproj.io/tracking-id"], name.Name+":/ConfigMap:"+w.Target+"/settings"; got != want {
		t.Errorf("tracking id %q, want %q", got, want)
	}
	for _, f := range config.ManagedFields {
		if f.Manager != "wavetrain" || f.Operation != "Apply" {
			t.Errorf("field manager %s/%s, want wavetrain/Apply", f.Manager, f.Operation)
		}
	}
	result := app.Status.OperationState.SyncResult
	if result.Revision != head || result.Source.TargetRevision != "main" {
		t.Errorf("result at %s of %+v, want %s of the source as the spec has it", result.Revision, result.Source, head)
	}
	if len(result.Resources) != 2 || result.Resources[0].Status != v1alpha1.ResultSynced || result.Resources[0].SyncPhase != "Sync" {
		t.Errorf("results = %+v", result.Resources)
	}
}

func TestFollowsCommitsPrunesAndHeals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{
		"app/a.yaml": configMap("a", "data: {v: '1'}"), "app/b.yaml": configMap("b", "data: {v: '1'}"), "other/x.yaml": configMap("x"),
	})
	name := w.app("shop", repo, "app")
	w.until(name, 30*time.Second, "converged", converged)

	second := repo.Commit("change a, drop b", map[string]string{"app/a.yaml": configMap("a", "data: {v: '2'}"), "app/b.yaml": "-"})
	w.until(name, 30*time.Second, "at the second commit", convergedAt(second))
	var a corev1.ConfigMap
	if !w.exists("a", &a) || a.Data["v"] != "2" {
		t.Errorf("a = %v", a.Data)
	}
	if w.exists("b", &corev1.ConfigMap{}) {
		t.Error("b was not pruned")
	}

	a.Data = map[string]string{"v": "by hand", "extra": "kept"}
	if err := w.client.Update(t.Context(), &a); err != nil {
		t.Fatal(err)
	}
	w.eventually(20*time.Second, "the drift is healed", func() (bool, string) {
		return w.exists("a", &a) && a.Data["v"] == "2", fmt.Sprint(a.Data)
	})
	if a.Data["extra"] != "kept" {
		t.Error("a field that Git does not set was removed")
	}
	healed := w.until(name, 20*time.Second, "converged after healing", func(app *v1alpha1.Application) bool { return converged(app) && heals(app) })
	if n := len(healed.Status.History); n != 2 {
		t.Errorf("history has %d entries, want 2: healing is no release", n)
	}

	third := repo.Commit("elsewhere", map[string]string{"other/x.yaml": configMap("x", "data: {v: '9'}")})
	compared := w.until(name, 20*time.Second, "compared at the third commit", func(app *v1alpha1.Application) bool {
		return app.Status.Sync.Revision == third && app.Status.Sync.Status == v1alpha1.SyncStatusSynced
	})
	if !heals(compared) {
		t.Error("a commit that does not affect the application started an operation")
	}
}

// heals tells whether the last operation was for single objects, as healing is.
func heals(app *v1alpha1.Application) bool {
	sync := app.Status.OperationState.Operation.Sync
	return sync != nil && len(sync.Resources) > 0
}

func TestWavesHooksAndSecretsComeInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, thirdParty())
	repo := gittest.New(t, map[string]string{
		"app/init.yaml":    job("role-init", "argocd.argoproj.io/hook", "PreSync", "argocd.argoproj.io/sync-wave", "-1"),
		"app/script.yaml":  configMap("script", annotated("argocd.argoproj.io/hook", "PreSync", "argocd.argoproj.io/sync-wave", "-2")),
		"app/store.yaml":   "apiVersion: external-secrets.io/v1\nkind: SecretStore\nmetadata: {name: vault}\nspec: {provider: {vault: {server: https://vault.example.test, path: kv}}}\n",
		"app/secret.yaml":  "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: web}\nspec:\n  secretStoreRef: {name: vault, kind: SecretStore}\n  data: [{secretKey: TOKEN, remoteRef: {key: web}}]\n",
		"app/same.yaml":    deployment("same-wave", "0", "web"),
		"app/migrate.yaml": job("migrate", "argocd.argoproj.io/sync-wave", "1"),
		"app/web.yaml":     deployment("web", "2", "web"),
		"app/after.yaml":   job("smoke", "argocd.argoproj.io/hook", "PostSync"),
	})
	name := w.app("shop", repo, "app")
	app := w.until(name, 60*time.Second, "converged", converged)
	// Four gates between five groups, and a Secret before each of two Deployments.
	w.proveOrder(6)

	done, created := timeline.Done, timeline.Created
	for _, order := range [][2]timeline.Moment{
		{w.first("Job", "role-init", done), w.first("Job", "migrate", created)},
		{w.first("Job", "migrate", done), w.first("Deployment", "web", created)},
		{w.first("Secret", "web", created), w.first("Deployment", "same-wave", created)},
		{w.first("Deployment", "web", done), w.first("Job", "smoke", created)},
	} {
		if order[0].ResourceVersion >= order[1].ResourceVersion {
			t.Errorf("%s %s (%d) is not before %s %s (%d)", order[0].Key.Short(), order[0].What, order[0].ResourceVersion, order[1].Key.Short(), order[1].What, order[1].ResourceVersion)
		}
	}
	hooks := 0
	for _, r := range app.Status.OperationState.SyncResult.Resources {
		if r.HookType == "" {
			continue
		}
		hooks++
		if r.HookPhase != v1alpha1.OperationSucceeded || r.Status != v1alpha1.ResultSynced {
			t.Errorf("hook %s: %+v", r.Name, r)
		}
	}
	if hooks != 3 {
		t.Errorf("%d results of hooks, want 3", hooks)
	}
}

func TestVaultThatRefusesStopsTheRolloutAndNothingNeedsAHandAfterwards(t *testing.T) {
	t.Parallel()
	opts := thirdParty()
	opts.Own = true
	w := newWorld(t, opts)
	w.env.SetRules(t, `rules:
  - match: {kind: ExternalSecret, name: web}
    setStatus:
      - {at: 0s, status: {conditions: [{type: Ready, status: "False", reason: SecretSyncedError, message: "could not get secret: 403 permission denied"}]}}
`)
	repo := gittest.New(t, map[string]string{
		"app/store.yaml":  "apiVersion: external-secrets.io/v1\nkind: SecretStore\nmetadata: {name: vault}\nspec: {provider: {vault: {server: https://vault.example.test, path: kv}}}\n",
		"app/secret.yaml": "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: web}\nspec:\n  secretStoreRef: {name: vault, kind: SecretStore}\n  data: [{secretKey: TOKEN, remoteRef: {key: web}}]\n",
		"app/web.yaml":    deployment("web", "2", "web"),
	})
	name := w.app("shop", repo, "app")
	says := func(app *v1alpha1.Application) bool {
		s := app.Status.OperationState
		return s != nil && strings.Contains(s.Message, "ExternalSecret/web") && strings.Contains(s.Message, "403 permission denied")
	}
	w.until(name, 15*time.Second, "waiting for the ExternalSecret, in its own words", says)
	w.until(name, 30*time.Second, "failed after the grace period", func(app *v1alpha1.Application) bool {
		return says(app) && app.Status.OperationState.Phase == v1alpha1.OperationFailed
	})
	if w.exists("web", &appsv1.Deployment{}) {
		t.Error("a Deployment that needs the Secret was created")
	}
	w.env.SetRules(t, "rules: []\n")
	w.until(name, 60*time.Second, "converged without a hand", converged)
	w.proveOrder(2)
}

func TestKilledInTheMiddleOfAWaveItGoesOnAndRunsNoHookTwice(t *testing.T) {
	t.Parallel()
	w := newWorldWithoutController(t, sandboxtest.Options{Own: true})
	w.env.SetRules(t, `rules:
  - match: {kind: Job, name: init}
    succeedAfter: 3s
  - match: {kind: Deployment, name: web}
    readyAfter: 3s
`)
	repo := gittest.New(t, map[string]string{
		"app/init.yaml":  job("init", "argocd.argoproj.io/hook", "PreSync"),
		"app/web.yaml":   deployment("web", "0"),
		"app/late.yaml":  configMap("late", annotated("argocd.argoproj.io/sync-wave", "1")),
		"app/smoke.yaml": job("smoke", "argocd.argoproj.io/hook", "PostSync"),
	})
	name := w.app("shop", repo, "app")
	mirrors := t.TempDir()

	created := func(kind, object string) func() (bool, string) {
		return func() (bool, string) {
			for _, m := range w.moments() {
				if m.Key.Kind == kind && m.Key.Name == object && m.What == timeline.Created {
					return true, ""
				}
			}
			return false, kind + "/" + object + " is not there"
		}
	}
	kill := w.startProcess(mirrors)
	w.eventually(30*time.Second, "the hook runs", created("Job", "init"))
	kill()
	kill = w.startProcess(mirrors)
	w.eventually(30*time.Second, "the wave runs", created("Deployment", "web"))
	kill()
	w.startProcess(mirrors)
	w.until(name, 60*time.Second, "converged", converged)

	for _, hook := range []string{"init", "smoke"} {
		w.once("Job", hook)
	}
	w.proveOrder(3)
}

func TestBadInputConcernsOnlyItsOwnApplication(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{
		"good/ok.yaml":           configMap("good"),
		"chart/Chart.yaml":       "apiVersion: v2\nname: broken\nversion: 0.1.0\n",
		"chart/templates/x.yaml": "kind: ConfigMap\nvalue: {{ .Values.missing.deep }}\n",
		"yaml/broken.yaml":       "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n   indented: wrong\n",
		"kind/unknown.yaml":      "apiVersion: example.test/v1\nkind: Gadget\nmetadata: {name: g}\n",
		"rejected/bad.yaml":      "apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 99999}]}\n",
	})
	vanishing := gittest.New(t, map[string]string{"app/x.yaml": configMap("v")})
	vanished := gittest.New(t, map[string]string{"app/x.yaml": configMap("never")})
	vanished.Vanish()

	cases := []struct {
		name, path string
		want       []string
		repo       *gittest.Repository
		change     func(*v1alpha1.Application)
	}{
		{"revision", "good", []string{"nope", repo.URL}, repo, func(app *v1alpha1.Application) { app.Spec.Source.TargetRevision = "nope" }},
		{"path", "no/such/path", []string{"no/such/path", "does not exist"}, repo, nil},
		{"chart", "chart", []string{"templates/x.yaml"}, repo, nil},
		{"yaml", "yaml", []string{"yaml/broken.yaml:5"}, repo, nil},
		{"kind", "kind", []string{"Gadget", "example.test"}, repo, nil},
		{"rejected", "rejected", []string{"Service", "bad", "99999"}, repo, nil},
		{"cluster", "good", []string{"127.0.0.1:1"}, repo, func(app *v1alpha1.Application) {
			app.Spec.Destination = v1alpha1.ApplicationDestination{Name: "gone", Namespace: "x"}
		}},
		{"destination", "good", []string{"nobody-knows"}, repo, func(app *v1alpha1.Application) {
			app.Spec.Destination = v1alpha1.ApplicationDestination{Name: "nobody-knows", Namespace: "x"}
		}},
		{"repository", "app", []string{vanished.URL}, vanished, nil},
		{"project", "good", []string{"project", "nope"}, repo, func(app *v1alpha1.Application) { app.Spec.Project = "nope" }},
	}
	w.registerCluster("gone", "https://127.0.0.1:1")
	gone := w.app("vanishing", vanishing, "app")
	w.until(gone, 30*time.Second, "converged", converged)
	vanishing.Vanish()
	for _, c := range cases {
		change := c.change
		if change == nil {
			change = func(*v1alpha1.Application) {}
		}
		w.app(c.name, c.repo, c.path, change)
	}
	good := w.app("good", repo, "good")
	w.until(good, 30*time.Second, "converged beside the broken ones", converged)
	for _, c := range cases {
		w.until(client.ObjectKey{Namespace: w.Control, Name: w.named(c.name)}, 60*time.Second, "in error with "+strings.Join(c.want, ", "), func(app *v1alpha1.Application) bool {
			return containsAll(errorText(app), c.want)
		})
	}
	app := w.until(gone, 60*time.Second, "in error", func(app *v1alpha1.Application) bool {
		return containsAll(errorText(app), []string{vanishing.URL})
	})
	if app.Status.Health.Status != v1alpha1.HealthHealthy {
		t.Errorf("health %s: what runs is still known", app.Status.Health.Status)
	}
}

// errorText is what an Application says about itself when something is wrong.
func errorText(app *v1alpha1.Application) string {
	var parts []string
	for _, c := range app.Status.Conditions {
		parts = append(parts, c.Message)
	}
	if s := app.Status.OperationState; s != nil && s.Phase != v1alpha1.OperationSucceeded {
		parts = append(parts, s.Message)
	}
	return strings.Join(parts, "\n")
}

func containsAll(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return text != ""
}

func TestManualSyncAndTerminate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{Own: true})
	w.env.SetRules(t, "rules:\n  - match: {kind: Job, name: slow}\n    neverFinish: true\n")
	repo := gittest.New(t, map[string]string{"app/a.yaml": configMap("a"), "app/slow.yaml": job("slow", "argocd.argoproj.io/hook", "PostSync")})
	name := w.app("shop", repo, "app", func(app *v1alpha1.Application) { app.Spec.SyncPolicy = nil })
	w.until(name, 30*time.Second, "out of sync", func(app *v1alpha1.Application) bool { return app.Status.Sync.Status == v1alpha1.SyncStatusOutOfSync })
	if w.exists("a", &corev1.ConfigMap{}) {
		t.Error("an application without automation was synced")
	}

	app := w.get(name)
	app.Operation = &v1alpha1.Operation{Sync: &v1alpha1.SyncOperation{}, InitiatedBy: v1alpha1.OperationInitiator{Username: "anna"}}
	if err := w.client.Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	w.until(name, 30*time.Second, "waiting for the hook", func(app *v1alpha1.Application) bool {
		return app.Status.OperationState != nil && strings.Contains(app.Status.OperationState.Message, "Job/slow")
	})
	before := w.get(name)
	terminating := before.DeepCopy()
	terminating.Status.OperationState.Phase = v1alpha1.OperationTerminating
	if err := w.client.Patch(t.Context(), terminating, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	app = w.until(name, 30*time.Second, "terminated", func(app *v1alpha1.Application) bool {
		return app.Status.OperationState.Phase == v1alpha1.OperationFailed && strings.Contains(app.Status.OperationState.Message, "Operation terminated")
	})
	if app.Operation != nil {
		t.Error("the request is still there")
	}
	if app.Status.OperationState.Operation.InitiatedBy.Username != "anna" {
		t.Errorf("initiated by %q", app.Status.OperationState.Operation.InitiatedBy.Username)
	}
}

func TestDeletionGoesThroughTheWavesBackwards(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{
		"app/a.yaml":    configMap("low", annotated("argocd.argoproj.io/sync-wave", "-1")),
		"app/b.yaml":    configMap("high", annotated("argocd.argoproj.io/sync-wave", "3")),
		"app/keep.yaml": configMap("kept", annotated("argocd.argoproj.io/sync-options", "Delete=false")),
	})
	name := w.app("shop", repo, "app", func(app *v1alpha1.Application) { app.Finalizers = []string{v1alpha1.FinalizerResources} })
	w.until(name, 30*time.Second, "converged", converged)
	app := w.get(name)
	if err := w.client.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	w.eventually(30*time.Second, "the Application is gone", func() (bool, string) {
		err := w.client.Get(t.Context(), name, app)
		return apierrors.IsNotFound(err), fmt.Sprint(err, app.Status.Conditions)
	})
	if !w.exists("kept", &corev1.ConfigMap{}) {
		t.Error("Delete=false was not respected")
	}
	if high, low := w.first("ConfigMap", "high", timeline.Deleted), w.first("ConfigMap", "low", timeline.Deleted); high.ResourceVersion >= low.ResourceVersion {
		t.Errorf("the high wave was deleted at %d, the low one at %d", high.ResourceVersion, low.ResourceVersion)
	}
}

func TestNewerCommitSupersedesARolloutThatHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{Own: true})
	w.env.SetRules(t, "rules:\n  - match: {kind: Job, name: stuck}\n    neverFinish: true\n")
	repo := gittest.New(t, map[string]string{"app/hook.yaml": job("stuck", "argocd.argoproj.io/hook", "PreSync"), "app/a.yaml": configMap("a")})
	name := w.app("shop", repo, "app")
	w.until(name, 30*time.Second, "waiting for the hook", func(app *v1alpha1.Application) bool {
		return app.Status.OperationState != nil && strings.Contains(app.Status.OperationState.Message, "Job/stuck")
	})
	fix := repo.Commit("fix the hook", map[string]string{"app/hook.yaml": job("good", "argocd.argoproj.io/hook", "PreSync")})
	w.until(name, 30*time.Second, "converged at the fix", convergedAt(fix))
	w.eventually(10*time.Second, "the hanging hook is gone", func() (bool, string) {
		return !w.exists("stuck", &batchv1.Job{}), "it is there"
	})
}

func TestFailedHookIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{Own: true})
	w.env.SetRules(t, `rules:
  - match: {kind: Job, name: flaky, occurrence: 1}
    failAfter: 0s
`)
	hook := strings.Replace(job("flaky", "argocd.argoproj.io/hook", "PreSync"), "spec:\n", "spec:\n  backoffLimit: 0\n", 1)
	repo := gittest.New(t, map[string]string{"app/hook.yaml": hook, "app/a.yaml": configMap("a")})
	two := int64(2)
	name := w.app("shop", repo, "app", func(app *v1alpha1.Application) {
		app.Spec.SyncPolicy.Retry = &v1alpha1.RetryStrategy{Limit: two, Backoff: &v1alpha1.Backoff{Duration: "15s"}}
	})
	w.until(name, 30*time.Second, "announcing its next attempt", func(app *v1alpha1.Application) bool {
		s := app.Status.OperationState
		return s != nil && s.Phase == v1alpha1.OperationRunning && strings.Contains(s.Message, "Retrying attempt #1 at") && strings.Contains(s.Message, "Job/flaky")
	})
	if w.exists("a", &corev1.ConfigMap{}) {
		t.Error("an object of a later phase was created although the hook failed")
	}
	app := w.until(name, 30*time.Second, "converged", converged)
	if state := app.Status.OperationState; state.RetryCount != 1 || !strings.Contains(state.Message, "retried 1 times") {
		t.Errorf("retryCount %d, message %q", state.RetryCount, state.Message)
	}
}

func TestFixDoesNotWaitForTheRetriesOfWhatItFixes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{Own: true})
	w.env.SetRules(t, "rules:\n  - match: {kind: Job, name: broken}\n    failAfter: 0s\n")
	hook := func(name string) string {
		return strings.Replace(job(name, "argocd.argoproj.io/hook", "PreSync"), "spec:\n", "spec:\n  backoffLimit: 0\n", 1)
	}
	repo := gittest.New(t, map[string]string{"app/hook.yaml": hook("broken"), "app/a.yaml": configMap("a")})
	name := w.app("shop", repo, "app", func(app *v1alpha1.Application) {
		app.Spec.SyncPolicy.Retry = &v1alpha1.RetryStrategy{Limit: 5, Backoff: &v1alpha1.Backoff{Duration: "10m", MaxDuration: "10m"}}
	})
	w.until(name, 30*time.Second, "waiting for its next attempt", func(app *v1alpha1.Application) bool {
		return app.Status.OperationState != nil && strings.Contains(app.Status.OperationState.Message, "Retrying attempt #1 at")
	})
	fix := repo.Commit("fix", map[string]string{"app/hook.yaml": hook("good")})
	w.until(name, 30*time.Second, "converged at the fix", convergedAt(fix))
}
