// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// listens returns where a controller that logs JSON says that it listens for
// something.
func (r *running) listens(t *testing.T, what string) string {
	t.Helper()
	line := regexp.MustCompile(`"msg":"listening","for":"` + what + `","address":"([^"]+)"`)
	r.err.await(t, `"msg":"listening","for":"`+what+`"`, time.Minute)
	found := line.FindStringSubmatch(r.err.String())
	if found == nil {
		t.Fatalf("the log does not say where it listens for %s:\n%s", what, r.err)
	}
	return found[1]
}

func answers(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// TestServe runs the controller as an operator does: on a cluster that has
// nothing of ours yet, until a signal.
func TestServe(t *testing.T) {
	env := sandboxtest.Start(t, sandboxtest.Options{Own: true, Nodes: 1})
	scheme, err := apiScheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	namespace := "gitops"
	if err := ensureNamespace(t.Context(), c, namespace); err != nil {
		t.Fatal(err)
	}
	// What an installation of Argo CD says about namespaces of Applications counts.
	if err := ensureNamespace(t.Context(), c, "team-a"); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "argocd-cmd-params-cm"},
		Data:       map[string]string{"application.namespaces": "payments, team-*"},
	}); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "argocd-cm"}, Data: map[string]string{"timeout.reconciliation": "90s"},
	}); err != nil {
		t.Fatal(err)
	}
	r := start(t, "serve", "--kubeconfig", env.Kubeconfig, "-n", namespace, "--install-crds", "--leader-elect",
		"--health-address", "127.0.0.1:0", "--metrics-address", "127.0.0.1:0", "--profiling", "--log-format", "json")
	r.err.await(t, `"msg":"controller starts"`, time.Minute)
	r.err.await(t, `"pollInterval":"1m30s"`, time.Minute)
	r.err.await(t, `"msg":"Starting workers"`, time.Minute)
	health, metrics := r.listens(t, "health"), r.listens(t, "metrics")
	if !answers(t.Context(), "http://"+health+"/readyz") {
		t.Error("the readiness probe is not answered")
	}
	if !answers(t.Context(), "http://"+metrics+"/metrics") {
		t.Error("metrics are not served")
	}
	if !answers(t.Context(), "http://"+metrics+"/debug/pprof/goroutine?debug=1") {
		t.Error("profiles are not served")
	}

	code, stdout, stderr := call(t, "serve", "--kubeconfig", env.Kubeconfig, "-n", namespace, "--metrics-address", metrics)
	if want := "choose another address with --metrics-address"; code != exitFailed || !strings.Contains(stderr, want) {
		t.Errorf("serving metrics where somebody does already exits with %d, want %d and %q:\n%s%s", code, exitFailed, want, stdout, stderr)
	}

	repo := gittest.New(t, map[string]string{"manifests/settings.yaml": settingsManifest("small")})
	app := &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"},
		Spec: v1alpha1.ApplicationSpec{
			Source:      &v1alpha1.ApplicationSource{RepoURL: repo.URL, Path: "manifests"},
			Destination: v1alpha1.ApplicationDestination{Server: v1alpha1.InClusterServer, Namespace: "default"},
			SyncPolicy:  &v1alpha1.SyncPolicy{Automated: &v1alpha1.SyncPolicyAutomated{}},
		},
	}
	if err := c.Create(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := call(t, "app", "wait", "shop", "-n", namespace, "--kubeconfig", env.Kubeconfig, "--timeout", "3m"); code != exitOK {
		t.Errorf("waiting for the Application exits with %d:\n%s\n%s", code, stderr, r.err)
	}

	theirs := app.DeepCopy()
	theirs.ObjectMeta = metav1.ObjectMeta{Namespace: "team-a", Name: "shop"}
	theirs.Spec.Source.Path = "theirs"
	repo.Commit("theirs", map[string]string{"theirs/settings.yaml": strings.Replace(settingsManifest("small"), "name: settings", "name: theirs", 1)})
	if err := c.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	patchProject := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"sourceNamespaces":["team-*"]}}`))
	if err := c.Patch(t.Context(), &v1alpha1.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}, patchProject); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"app", "wait", "team-a/shop", "--timeout", "3m"},
		{"app", "sync", "shop", "-N", "team-a", "--timeout", "3m"},
		{"app", "diff", "-n", namespace, "team-a/shop"},
		{"app", "get", "team-a/shop"},
		{"app", "record", "-N", "team-a", "shop"},
		{"app", "wait", "shop", "team-a/shop", "-n", namespace, "--timeout", "3m"},
	} {
		code, stdout, stderr := call(t, append(args, "--kubeconfig", env.Kubeconfig)...)
		if code != exitOK {
			t.Errorf("%v exits with %d:\n%s%s\n%s", args, code, stdout, stderr, r.err)
		}
	}
	if code, stdout, _ := call(t, "app", "list", "-N", "team-a", "-o", "name", "--kubeconfig", env.Kubeconfig); code != exitOK || stdout != "application.argoproj.io/shop\n" {
		t.Errorf("app list -N exits with %d and prints %q", code, stdout)
	}

	// Somebody has left something in the destination namespace.
	if code, _, stderr := call(t, "app", "resources", "shop", "-n", namespace, "--orphaned", "--kubeconfig", env.Kubeconfig); code != exitFailed || !strings.Contains(stderr, "does not monitor orphaned resources") {
		t.Errorf("app resources --orphaned without a project that monitors exits with %d:\n%s", code, stderr)
	}
	if err := c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "left"}}); err != nil {
		t.Fatal(err)
	}
	monitor := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"orphanedResources":{}}}`))
	if err := c.Patch(t.Context(), &v1alpha1.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}, monitor); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr = call(t, "app", "resources", "shop", "-n", namespace, "--orphaned", "-o", "json", "--kubeconfig", env.Kubeconfig)
	if code != exitOK || strings.Join(strings.Fields(stdout), "") != `[{"kind":"ConfigMap","namespace":"default","name":"left"}]` {
		t.Errorf("app resources --orphaned exits with %d:\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := call(t, "app", "resources", "team-a/shop", "--kubeconfig", env.Kubeconfig); code != exitOK || !strings.Contains(stdout, "theirs") {
		t.Errorf("app resources exits with %d:\n%s%s", code, stdout, stderr)
	}

	r.stop()
	if code := r.exit(t, 30*time.Second); code != exitOK {
		t.Errorf("exit code %d after the signal, want 0:\n%s", code, r.err)
	}
	if !strings.Contains(r.err.String(), `"msg":"controller stopped"`) {
		t.Errorf("it did not say that it stopped:\n%s", r.err)
	}
}
