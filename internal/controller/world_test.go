// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/wavetrain/wavetrain/api/crds"
	releasev1alpha1 "github.com/wavetrain/wavetrain/api/release/v1alpha1"
	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
	"github.com/wavetrain/wavetrain/internal/source"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

// serveVariable makes the test binary a controller instead: the tests that kill
// one need a process of its own.
const serveVariable = "WAVETRAIN_TEST_SERVE"

func TestMain(m *testing.M) {
	if spec := os.Getenv(serveVariable); spec != "" {
		serve(spec)
		return
	}
	os.Exit(m.Run())
}

// serve runs a controller until it is killed. spec is "kubeconfig|mirrors|control
// namespace".
func serve(spec string) {
	parts := strings.Split(spec, "|")
	cfg, err := clientcmd.BuildConfigFromFlags("", parts[0])
	if err == nil {
		err = runController(context.Background(), cfg, parts[1], parts[2])
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func runController(ctx context.Context, cfg *rest.Config, mirrors, namespace string) error {
	store, err := source.NewStore(source.Options{Dir: mirrors, Env: gittest.Env(), RefsTTL: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	c, err := controller.New(controller.Options{
		Config: cfg, Namespace: namespace, Sources: store, PollInterval: 500 * time.Millisecond,
		Limits: machine.Limits{FlapGrace: 3 * time.Second},
	})
	if err != nil {
		return err
	}
	return c.Run(ctx)
}

// Most of a test here is waiting for the cluster, so they run side by side.

// world is a control plane with a controller and a namespace to deliver to.
type world struct {
	t      testing.TB
	env    *sandboxtest.Env
	client client.WithWatch
	// Control is the control namespace, Target the destination.
	Control, Target string
	recorder        *timeline.Recorder
}

// newWorld starts a controller that sees Applications of a control namespace of
// its own; it stops with the test.
func newWorld(t *testing.T, opts sandboxtest.Options) *world {
	t.Helper()
	w := newWorldWithoutController(t, opts)
	w.start(t)
	return w
}

// start runs a controller until the test ends.
func (w *world) start(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	mirrors := t.TempDir()
	go func() { done <- runController(ctx, w.env.Config, mirrors, w.Control) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("controller: %v", err)
		}
	})
}

func newWorldWithoutController(t testing.TB, opts sandboxtest.Options) *world {
	t.Helper()
	env := sandboxtest.Start(t, opts)
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1alpha1.AddToScheme, releasev1alpha1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.NewWithWatch(env.Config, client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, env: env, client: c, Control: env.Namespace(t), Target: env.Namespace(t)}
	w.installCRDs()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(stop)
	w.recorder, err = timeline.Record(ctx, env.Config, nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) installCRDs() {
	w.t.Helper()
	all, err := crds.All()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, crd := range all {
		if err := w.client.Create(w.t.Context(), crd); err != nil && !apierrors.IsAlreadyExists(err) {
			w.t.Fatal(err)
		}
	}
	w.eventually(20*time.Second, "Applications are served", func() (bool, string) {
		err := w.client.List(w.t.Context(), &v1alpha1.ApplicationList{})
		return err == nil, fmt.Sprint(err)
	})
}

// startProcess runs the controller as a process and returns how to kill it.
func (w *world) startProcess(mirrors string) (kill func()) {
	w.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveVariable+"="+strings.Join([]string{w.env.Kubeconfig, mirrors, w.Control}, "|"))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	killed := false
	kill = func() {
		if killed {
			return
		}
		killed = true
		// SIGKILL: the process gets no chance to tidy up.
		if err := cmd.Process.Kill(); err != nil {
			w.t.Error(err)
		}
		// It was killed, so Wait reports an error by design.
		_ = cmd.Wait()
	}
	w.t.Cleanup(kill)
	return kill
}

// named makes an Application's name unique: to one cluster, Applications of one
// name in two control namespaces are one and the same owner.
func (w *world) named(name string) string {
	return name + strings.TrimPrefix(w.Control, "test")
}

// app makes an Application of the repository's folder.
func (w *world) app(name string, repo *gittest.Repository, path string, change ...func(*v1alpha1.Application)) types.NamespacedName {
	w.t.Helper()
	yes := true
	app := &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Control, Name: w.named(name)},
		Spec: v1alpha1.ApplicationSpec{
			Project:     "default",
			Source:      &v1alpha1.ApplicationSource{RepoURL: repo.URL, Path: path, TargetRevision: "main"},
			Destination: v1alpha1.ApplicationDestination{Server: v1alpha1.InClusterServer, Namespace: w.Target},
			SyncPolicy:  &v1alpha1.SyncPolicy{Automated: &v1alpha1.SyncPolicyAutomated{Prune: &yes, SelfHeal: &yes}},
		},
	}
	for _, c := range change {
		c(app)
	}
	if err := w.client.Create(w.t.Context(), app); err != nil {
		w.t.Fatal(err)
	}
	return client.ObjectKeyFromObject(app)
}

func (w *world) get(name types.NamespacedName) *v1alpha1.Application {
	w.t.Helper()
	app := &v1alpha1.Application{}
	if err := w.client.Get(w.t.Context(), name, app); err != nil {
		w.t.Fatal(err)
	}
	return app
}

// until waits for the Application to be as wanted.
func (w *world) until(name types.NamespacedName, limit time.Duration, want string, ok func(*v1alpha1.Application) bool) *v1alpha1.Application {
	w.t.Helper()
	var app *v1alpha1.Application
	w.eventually(limit, name.Name+" is "+want, func() (bool, string) {
		app = w.get(name)
		return ok(app), summary(app)
	})
	return app
}

// converged is an Application of which nothing is left to do.
func converged(app *v1alpha1.Application) bool {
	state := app.Status.OperationState
	return app.Status.Sync.Status == v1alpha1.SyncStatusSynced && app.Status.Health.Status == v1alpha1.HealthHealthy &&
		state != nil && state.Phase == v1alpha1.OperationSucceeded
}

// convergedAt is converged at a revision.
func convergedAt(revision string) func(*v1alpha1.Application) bool {
	return func(app *v1alpha1.Application) bool {
		return converged(app) && app.Status.Sync.Revision == revision && app.Status.OperationState.SyncResult.Revision == revision
	}
}

func summary(app *v1alpha1.Application) string {
	text := fmt.Sprintf("sync %s, health %s %s", app.Status.Sync.Status, app.Status.Health.Status, app.Status.Health.Message)
	if s := app.Status.OperationState; s != nil {
		text += fmt.Sprintf(", operation %s: %s", s.Phase, s.Message)
	}
	for _, c := range app.Status.Conditions {
		text += fmt.Sprintf("\n  %s: %s", c.Type, c.Message)
	}
	for _, r := range app.Status.Resources {
		text += fmt.Sprintf("\n  %s/%s: %s", r.Kind, r.Name, r.Status)
	}
	return text
}

// slowMachine is how many times longer than on an idle machine a condition may
// take: tests run side by side, on two cores, and under the race detector.
const slowMachine = 4

// patient is the least that a condition may take on an idle machine.
const patient = 30 * time.Second

func (w *world) eventually(limit time.Duration, what string, check func() (bool, string)) {
	w.t.Helper()
	limit = slowMachine * max(limit, patient)
	last := ""
	err := wait.PollUntilContextTimeout(w.t.Context(), 50*time.Millisecond, limit, true, func(context.Context) (ok bool, err error) {
		ok, last = check()
		return ok, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		w.t.Fatalf("not within %s: %s; it is: %s", limit, what, last)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// countWrites watches Applications from now on; the function it returns says how
// often one was changed after it was created.
func (w *world) countWrites() func(types.NamespacedName) int {
	w.t.Helper()
	watcher, err := w.client.Watch(w.t.Context(), &v1alpha1.ApplicationList{}, client.InNamespace(w.Control))
	if err != nil {
		w.t.Fatal(err)
	}
	return func(name types.NamespacedName) int {
		w.t.Helper()
		want, n := w.get(name).ResourceVersion, 0
		for e := range watcher.ResultChan() {
			app, ok := e.Object.(*v1alpha1.Application)
			if !ok || client.ObjectKeyFromObject(app) != name {
				continue
			}
			if e.Type == watch.Modified {
				n++
			}
			if app.ResourceVersion == want {
				break
			}
		}
		watcher.Stop()
		return n
	}
}

// registerCluster adds a destination, as a Secret of Argo CD's form.
func (w *world) registerCluster(name, server string) {
	w.t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Control, Name: "cluster-" + name, Labels: map[string]string{"argocd.argoproj.io/secret-type": "cluster"}},
		StringData: map[string]string{"name": name, "server": server, "config": `{"tlsClientConfig":{"insecure":true}}`},
	}
	if err := w.client.Create(w.t.Context(), secret); err != nil {
		w.t.Fatal(err)
	}
}

// exists tells whether an object is there, and reads it.
func (w *world) exists(name string, into client.Object) bool {
	w.t.Helper()
	err := w.client.Get(w.t.Context(), types.NamespacedName{Namespace: w.Target, Name: name}, into)
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
	return err == nil
}

// moments returns what happened in the target namespace.
func (w *world) moments() []timeline.Moment {
	var kept []timeline.Moment
	for _, m := range w.recorder.Moments() {
		if m.Key.Namespace == w.Target {
			kept = append(kept, m)
		}
	}
	return kept
}

// first returns when something first happened to an object. What has happened may
// not have been told to the recorder yet.
func (w *world) first(kind, name string, what timeline.What) (first timeline.Moment) {
	w.t.Helper()
	w.eventually(patient, fmt.Sprintf("%s/%s was %s", kind, name, what), func() (bool, string) {
		for _, m := range w.moments() {
			if m.Key.Kind == kind && m.Key.Name == name && m.What == what {
				first = m
				return true, ""
			}
		}
		return false, "it has never been"
	})
	return first
}

// times returns how often something happened to an object, as far as the recorder
// was told.
func (w *world) times(kind, name string, what timeline.What) int {
	n := 0
	for _, m := range w.moments() {
		if m.Key.Kind == kind && m.Key.Name == name && m.What == what {
			n++
		}
	}
	return n
}

// once fails the test unless an object was created once.
func (w *world) once(kind, name string) {
	w.t.Helper()
	w.first(kind, name, timeline.Created)
	if n := w.times(kind, name, timeline.Created); n != 1 {
		w.t.Errorf("%s/%s was created %d times, want once", kind, name, n)
	}
}

// proveOrder fails the test for every order that the API server's events
// disprove, and when there are fewer proofs than expected.
func (w *world) proveOrder(atLeast int) {
	w.t.Helper()
	var proofs []timeline.Proof
	w.eventually(patient, fmt.Sprintf("at least %d orders can be proven", atLeast), func() (bool, string) {
		proofs = timeline.Prove(w.moments())
		return len(proofs) >= atLeast, fmt.Sprint(proofs)
	})
	for _, p := range proofs {
		if !p.Holds {
			w.t.Errorf("%s: %s: %s", p.App, p.Gate, p)
		}
	}
}

func configMap(name string, lines ...string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n" + strings.Join(lines, "\n") + "\n"
}

func annotated(pairs ...string) string {
	text := "  annotations:\n"
	for i := 0; i < len(pairs); i += 2 {
		text += fmt.Sprintf("    %s: %q\n", pairs[i], pairs[i+1])
	}
	return strings.TrimSuffix(text, "\n")
}

func deployment(name, wave string, env ...string) string {
	text := fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
  annotations: {argocd.argoproj.io/sync-wave: "%[2]s"}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers:
        - name: main
          image: registry.example.test/%[1]s:1
`, name, wave)
	if len(env) > 0 {
		text += fmt.Sprintf("          envFrom: [{secretRef: {name: %s}}]\n", env[0])
	}
	return text
}

func job(name string, annotations ...string) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata:
  name: %s
%s
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: registry.example.test/job:1}]
`, name, annotated(annotations...))
}
