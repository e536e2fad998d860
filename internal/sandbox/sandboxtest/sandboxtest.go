// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package sandboxtest gives tests a control plane: one process per test binary and set of options, started by the first
// test that asks and gone when the test binary is. Tests are isolated by namespace. A missing binary fails the test;
// nothing is ever skipped. Only tests may import it.
package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/wavetrain/wavetrain/internal/sandbox"
)

// startTimeout is generous: packages are tested side by side on few cores.
const startTimeout = 4 * time.Minute

// Options describe the control plane a test needs.
type Options struct {
	// Nodes is the number of simulated nodes. Defaults to the binary's choice.
	Nodes int
	// RuleSets names the shipped rules that are used, with their CRDs. Defaults to none.
	RuleSets []string
	// WithoutCRDs leaves out the CRDs of the rule sets.
	WithoutCRDs bool
	// AuditLog is a file that receives one line for each request. Defaults to none.
	AuditLog string
	// Own asks for a control plane that no other test shares and that stops with the test: for tests that change what
	// is cluster-scoped or set rules that others would feel.
	Own bool
}

// Env is a control plane for a test.
type Env struct {
	// Config is the administrator's client configuration, without client-side rate limit.
	Config *rest.Config
	// Kubeconfig is the path of the administrator's kubeconfig.
	Kubeconfig string

	sandbox *sandbox.Sandbox
}

// shared are the control planes of this test binary. They need no teardown: a sandbox stops when the process that
// started it is gone.
//
//nolint:gochecknoglobals // A test binary has no other place for what all of its tests share.
var shared struct {
	sync.Mutex
	envs map[string]*Env
}

// Start returns a control plane that is ready. Tests with equal options share one, unless they ask for their own.
func Start(t testing.TB, opts Options) *Env {
	t.Helper()
	if opts.Own {
		env := start(t, opts)
		t.Cleanup(func() {
			if err := env.sandbox.Stop(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		return env
	}
	key := fmt.Sprintf("%+v", opts)
	shared.Lock()
	defer shared.Unlock()
	if env := shared.envs[key]; env != nil {
		select {
		case <-env.sandbox.Done():
			t.Fatalf("the shared sandbox has stopped: %v", env.sandbox.Err())
		default:
		}
		return env
	}
	env := start(t, opts)
	if shared.envs == nil {
		shared.envs = map[string]*Env{}
	}
	shared.envs[key] = env
	return env
}

func start(t testing.TB, opts Options) *Env {
	t.Helper()
	binary, err := findBinary()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	s, err := sandbox.Start(ctx, sandbox.Options{
		Binary:      binary,
		Nodes:       opts.Nodes,
		RuleSets:    opts.RuleSets,
		WithoutCRDs: opts.WithoutCRDs,
		AuditLog:    opts.AuditLog,
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := s.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	return &Env{Config: cfg, Kubeconfig: s.Kubeconfig(), sandbox: s}
}

// SetRules replaces the rules that direct the simulation, in the whole control plane, until the test ends. The rules are
// in force when it returns.
func (e *Env) SetRules(t testing.TB, yaml string) {
	t.Helper()
	if err := e.sandbox.SetRules(t.Context(), []byte(yaml)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.sandbox.SetRules(context.WithoutCancel(t.Context()), nil); err != nil {
			t.Error(err)
		}
	})
}

// ReplaceRules replaces the rules that direct the simulation for as long as nobody replaces them again: for tests that
// share a control plane and put their rules together themselves. The rules are in force when it returns.
func (e *Env) ReplaceRules(ctx context.Context, yaml []byte) error {
	return e.sandbox.SetRules(ctx, yaml)
}

// Namespace creates a namespace for the test, in which Pods can be created at once, and deletes it at the end without
// waiting for it to be gone.
func (e *Env) Namespace(t testing.TB) string {
	t.Helper()
	client, err := kubernetes.NewForConfig(e.Config)
	if err != nil {
		t.Fatal(err)
	}
	created, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create namespace: %v", err)
	}
	t.Cleanup(func() {
		err := client.CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), created.Name, metav1.DeleteOptions{})
		if err != nil {
			t.Errorf("delete namespace: %v", err)
		}
	})
	e.awaitServiceAccount(t, client, created.Name)
	return created.Name
}

// awaitServiceAccount waits until the namespace has its default service account, without which Pods are refused.
func (e *Env) awaitServiceAccount(t testing.TB, client kubernetes.Interface, namespace string) {
	t.Helper()
	accounts := client.CoreV1().ServiceAccounts(namespace)
	watcher, err := accounts.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=default"})
	if err != nil {
		t.Fatalf("wait for service account: %v", err)
	}
	defer watcher.Stop()
	timeout := time.NewTimer(3 * time.Minute)
	defer timeout.Stop()
	select {
	case _, open := <-watcher.ResultChan(): // The first event is what exists, or its creation.
		if !open {
			t.Fatal("wait for service account: the watch ended")
		}
	case <-timeout.C:
		t.Fatalf("namespace %s has no default service account after 3 minutes", namespace)
	}
}

// findBinary looks into bin/ of the module besides the usual places: tests run in the directory of their package.
func findBinary() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	binary, err := sandbox.FindBinary(filepath.Join(root, "bin"))
	if err != nil {
		return "", fmt.Errorf("%w (in %s)", err, root)
	}
	return binary, nil
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), "module github.com/wavetrain/wavetrain\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod of Wavetrain above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}
