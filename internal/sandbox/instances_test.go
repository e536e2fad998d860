// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/wavetrain/wavetrain/internal/sandbox"
)

func TestCheckName(t *testing.T) {
	cases := map[string]struct {
		reason string
		name   string
		ok     bool
	}{
		"Plain":     {reason: "The default name.", name: "default", ok: true},
		"Dashes":    {reason: "Names of contours look like this.", name: "dev-2", ok: true},
		"Empty":     {reason: "An empty name would be the directory of all.", name: ""},
		"Parent":    {reason: "A name must not leave the directory.", name: ".."},
		"Separator": {reason: "A name must not leave the directory.", name: "a/b"},
		"UpperCase": {reason: "Some file systems do not tell it from lower case.", name: "Dev"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if err := sandbox.CheckName(tc.name); (err == nil) != tc.ok {
				t.Errorf("%s: CheckName(%q) = %v", tc.reason, tc.name, err)
			}
		})
	}
}

func TestInstancesWithoutAny(t *testing.T) {
	instances := sandbox.Instances{Dir: filepath.Join(t.TempDir(), "absent")}
	list, err := instances.List()
	if err != nil || len(list) != 0 {
		t.Errorf("List() = %v, %v, want nothing", list, err)
	}
	if _, err := instances.Status("dev"); !errors.Is(err, sandbox.ErrNotFound) {
		t.Errorf("Status: got %v, want ErrNotFound", err)
	}
	if _, err := instances.Down(t.Context(), "dev"); !errors.Is(err, sandbox.ErrNotFound) {
		t.Errorf("Down: got %v, want ErrNotFound", err)
	}
}

func TestUpReportsWhyItFailed(t *testing.T) {
	instances := sandbox.Instances{Dir: t.TempDir()}
	binary := script(t, "echo 'wavetrain-sandbox: no space left' >&2\nexit 1\n")
	_, _, err := instances.Up(t.Context(), "dev", sandbox.Options{Binary: binary})
	if err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v, want the reason the binary gave", err)
	}
	status, err := instances.Status("dev")
	if err != nil {
		t.Fatal(err)
	}
	if status.State != sandbox.StateStopped {
		t.Errorf("state %s after a failed start, want Stopped", status.State)
	}
}

// TestInstanceLifecycle follows one named control plane: up, up again, killed, up again under the same address, down,
// deleted.
func TestInstanceLifecycle(t *testing.T) {
	binary, err := sandbox.FindBinary(filepath.Join("..", "..", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	instances := sandbox.Instances{Dir: t.TempDir()}
	opts := sandbox.Options{Binary: binary, Nodes: 2}
	t.Cleanup(func() {
		err := instances.Delete(context.WithoutCancel(t.Context()), "dev")
		if err != nil && !errors.Is(err, sandbox.ErrNotFound) {
			t.Error(err)
		}
	})

	first, started, err := instances.Up(t.Context(), "dev", opts)
	if err != nil {
		t.Fatal(err)
	}
	if !started || first.State != sandbox.StateRunning {
		t.Fatalf("after the first up: started %t, state %s", started, first.State)
	}
	again, started, err := instances.Up(t.Context(), "dev", opts)
	if err != nil {
		t.Fatal(err)
	}
	if started || again.PID != first.PID {
		t.Errorf("a second up must leave process %d alone: started %t, process %d", first.PID, started, again.PID)
	}
	kubeconfig, err := os.ReadFile(first.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}

	// Killed, it cannot remove the file that says it is ready; nobody may believe that file.
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitState(t, instances, sandbox.StateStopped)

	second, started, err := instances.Up(t.Context(), "dev", sandbox.Options{Binary: binary})
	if err != nil {
		t.Fatal(err)
	}
	if !started || second.PID == first.PID {
		t.Errorf("up after a kill: started %t, process %d as before", started, second.PID)
	}
	unchanged, err := os.ReadFile(second.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(kubeconfig), string(unchanged)); diff != "" {
		t.Error("the kubeconfig of the first start is not that of the second")
	}

	if nodes := countNodes(t, second.Kubeconfig); nodes != 2 {
		t.Errorf("%d nodes, want the 2 of the first start", nodes)
	}

	stopped, err := instances.Down(t.Context(), "dev")
	if err != nil || !stopped {
		t.Errorf("Down() = %t, %v, want it stopped", stopped, err)
	}
	list, err := instances.List()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0].State != sandbox.StateStopped || list[0].PID != 0 {
		t.Errorf("after down: %+v, want one that is stopped", list)
	}
	if err := instances.Delete(t.Context(), "dev"); err != nil {
		t.Fatal(err)
	}
	if _, err := instances.Status("dev"); !errors.Is(err, sandbox.ErrNotFound) {
		t.Errorf("after delete: got %v, want ErrNotFound", err)
	}
}

// countNodes counts the nodes of a control plane.
func countNodes(t *testing.T, kubeconfig string) int {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

// awaitState waits until the only instance has a state. The process is no child of ours that could be waited for once
// Up has let go of it.
func awaitState(t *testing.T, instances sandbox.Instances, want sandbox.State) {
	t.Helper()
	timeout := time.After(time.Minute)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		status, err := instances.Status("dev")
		if err != nil {
			t.Fatal(err)
		}
		if status.State == want {
			return
		}
		select {
		case <-ticker.C:
		case <-timeout:
			t.Fatalf("%s after a minute, want %s", status.State, want)
		}
	}
}
