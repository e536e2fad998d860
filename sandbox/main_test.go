// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/wavetrain/wavetrain/sandbox/internal/controlplane"
)

// asSandbox turns this test binary into the program under test: tests start processes of it.
const asSandbox = "WAVETRAIN_SANDBOX_UNDER_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asSandbox) != "" {
		os.Exit(run())
	}
	os.Exit(m.Run())
}

// process is a sandbox that a test has started.
type process struct {
	controlplane.Info
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	pipe   io.Closer
	stdout *bufio.Scanner
	stderr *bytes.Buffer

	waited sync.Once
	result error
}

// start starts a sandbox and returns when it says that it is ready. It is gone at the end of the test, and would be if
// the test binary crashed.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := launch(t, args...)
	if !p.stdout.Scan() {
		t.Fatalf("not ready: %v: %s", p.wait(), p.stderr)
	}
	if err := json.Unmarshal(p.stdout.Bytes(), &p.Info); err != nil {
		t.Fatalf("read %q: %v", p.stdout.Text(), err)
	}
	return p
}

func launch(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{stderr: &bytes.Buffer{}}
	p.cmd = exec.Command(os.Args[0], append([]string{"--output=json", "--stop-with-parent"}, args...)...)
	p.cmd.Env = append(os.Environ(), asSandbox+"=1")
	p.cmd.Stderr = p.stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.pipe, p.stdout = stdout, bufio.NewScanner(stdout)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // It may have ended already.
		_ = p.wait()      // The test has looked at it if it wanted to.
	})
	return p
}

// wait waits for the end of the process.
func (p *process) wait() error {
	p.waited.Do(func() { p.result = p.cmd.Wait() })
	return p.result
}

func (p *process) config(t *testing.T) *rest.Config {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	cfg.QPS = -1
	return cfg
}

func (p *process) client(t *testing.T) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(p.config(t))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// eventuallyWithin is long: packages are tested side by side on few cores.
const eventuallyWithin = 3 * time.Minute

// held is how long only a stop takes that a part or a client holds up: until the control plane gives up waiting.
const held = 25 * time.Second

// eventually asks until the answer is yes. Most tests await an effect of a controller for which there is nothing better
// to wait on.
func eventually(t *testing.T, what string, done func(ctx context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), eventuallyWithin)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		ok, err := done(ctx)
		if ok {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within %s (%v)", what, eventuallyWithin, err)
		}
	}
}

func TestRestartContinues(t *testing.T) {
	dir := t.TempDir()
	first := start(t, "--data-dir", dir)
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Data: map[string]string{"k": "v"}}
	created, err := first.client(t).CoreV1().ConfigMaps("default").Create(t.Context(), configMap, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(first.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}

	// A client that watches must not hold the stop up.
	watcher, err := first.client(t).CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()

	began := time.Now()
	if err := first.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := first.wait(); err != nil {
		t.Errorf("SIGTERM: %v: %s", err, first.stderr)
	}
	took := time.Since(began)
	t.Logf("stopped in %s", took.Round(time.Millisecond))
	if took > held {
		t.Errorf("stopping took %s, something has held it up", took)
	}
	log, err := os.ReadFile(filepath.Join(dir, "sandbox.log"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(log, []byte("gave up waiting")) {
		t.Error("a part did not stop in time, see the log")
	}

	second := start(t, "--data-dir", dir)
	t.Logf("ready in %.1f s, then in %.1f s", first.ReadySeconds, second.ReadySeconds)
	after, err := os.ReadFile(second.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("the kubeconfig has changed")
	}
	found, err := second.client(t).CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if found.UID != created.UID {
		t.Errorf("the object has UID %s, it had %s", found.UID, created.UID)
	}
}

func TestSurvivesKill(t *testing.T) {
	dir := t.TempDir()
	first := start(t, "--data-dir", dir)
	namespaces := func(p *process) error {
		_, err := p.client(t).CoreV1().Namespaces().Get(t.Context(), "kept", metav1.GetOptions{})
		return err
	}
	_, err := first.client(t).CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.wait()
	if err := namespaces(start(t, "--data-dir", dir)); err != nil {
		t.Errorf("after kill -9: %v", err)
	}
}

// testSideBySide starts a second control plane beside the one that runs.
func testSideBySide(t *testing.T, one *process) {
	t.Helper()
	two := start(t)
	if one.Server == two.Server || one.DataDir == two.DataDir {
		t.Fatalf("two control planes share %s or %s", one.Server, one.DataDir)
	}
	name := metav1.ObjectMeta{Name: "only-in-two"}
	if _, err := two.client(t).CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: name}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := one.client(t).CoreV1().Namespaces().Get(t.Context(), name.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a namespace of the second, asked of the first: %v, want not found", err)
	}

	// A certificate of one is worth nothing to the other.
	stranger := one.config(t)
	stranger.Host, stranger.Insecure, stranger.CAData = two.Server, true, nil
	client, err := kubernetes.NewForConfig(stranger)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("secrets of the second with the certificate of the first: %v, want unauthorized", err)
	}

	// One directory is for one control plane.
	third := launch(t, "--data-dir", one.DataDir)
	var exit *exec.ExitError
	if err := third.wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("a second on one directory: %v, want exit code 1", err)
	}
	if !strings.Contains(third.stderr.String(), "in use by process") {
		t.Errorf("a second on one directory says %q", third.stderr)
	}
}

// TestStopsWhileStarting stops it at the worst moment: upstream's API server ends the process when it is cancelled
// while it comes up.
func TestStopsWhileStarting(t *testing.T) {
	dir := t.TempDir()
	p := launch(t, "--data-dir", dir)
	eventually(t, "the API server is being started", func(context.Context) (bool, error) {
		_, err := os.Stat(filepath.Join(dir, "port"))
		return err == nil, err
	})
	began := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		t.Errorf("SIGTERM: %v: %s", err, p.stderr)
	}
	if took := time.Since(began); took > held {
		t.Errorf("stopping took %s, something has held it up", took)
	}
}

func TestStopsWithItsParent(t *testing.T) {
	p := start(t)
	// Nobody reads what it says any more, either.
	if err := p.pipe.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(p.stdin, "reload 1"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := p.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		t.Errorf("end of standard input: %v: %s", err, p.stderr)
	}
	if took := time.Since(began); took > held {
		t.Errorf("stopping took %s, something has held it up", took)
	}
	if _, err := os.Stat(p.DataDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary data directory is still there: %v", err)
	}
}
