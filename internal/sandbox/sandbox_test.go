// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/wavetrain/wavetrain/internal/sandbox"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// script writes an executable that stands in for the binary.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wavetrain-sandbox")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStartReportsWhyItFailed(t *testing.T) {
	cases := map[string]struct {
		reason string
		body   string
		want   string
	}{
		"Explains": {
			reason: "What the binary writes to standard error is the reason the user reads.",
			body:   "echo 'wavetrain-sandbox: port 80 is taken' >&2\nexit 1\n",
			want:   "start sandbox: wavetrain-sandbox: port 80 is taken",
		},
		"AmongWarnings": {
			reason: "Libraries write to standard error as well; their remarks are not the reason.",
			body:   "echo '{\"level\":\"warn\"}' >&2\necho 'wavetrain-sandbox: no rules' >&2\nexit 1\n",
			want:   "start sandbox: wavetrain-sandbox: no rules",
		},
		"Crash": {
			reason: "Of a crash everything is shown, on one line.",
			body:   "echo 'panic: boom' >&2\necho 'goroutine 1' >&2\nexit 2\n",
			want:   "start sandbox: panic: boom; goroutine 1",
		},
		"Silent": {
			reason: "A binary that ends without a word is not mistaken for one that is ready.",
			body:   "exit 0\n",
			want:   "start sandbox: it stopped before it was ready",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := sandbox.Start(t.Context(), sandbox.Options{Binary: script(t, tc.body)})
			if err == nil {
				t.Fatalf("%s: no error", tc.reason)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := sandbox.Start(ctx, sandbox.Options{Binary: script(t, "exec sleep 60\n")})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want an error that is context.DeadlineExceeded", err)
	}
}

func TestFindBinary(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", t.TempDir())
	if _, err := sandbox.FindBinary(dir); !errors.Is(err, sandbox.ErrNoBinary) || !strings.Contains(err.Error(), sandbox.BuildCommand) {
		t.Errorf("got %v, want ErrNoBinary with the command that builds the binary", err)
	}

	path := filepath.Join(dir, "wavetrain-sandbox")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := sandbox.FindBinary(dir); !errors.Is(err, sandbox.ErrNoBinary) {
		t.Errorf("got %v, want a file that cannot be executed to be passed over", err)
	}
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := sandbox.FindBinary(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(path, got); diff != "" {
		t.Errorf("path (-want +got):\n%s", diff)
	}
}

func TestSandboxServes(t *testing.T) {
	env := sandboxtest.Start(t, sandboxtest.Options{})
	client, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(version.GitVersion, "v1.37.") {
		t.Errorf("server version %q, want v1.37.x", version.GitVersion)
	}

	namespace := env.Namespace(t)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "bare"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.test/app:1"}}},
	}
	if _, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Errorf("create a Pod in a fresh namespace: %v", err)
	}
}

func TestStop(t *testing.T) {
	s := startOwn(t, sandbox.Options{})
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Done():
	default:
		t.Error("Done is not closed after Stop")
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("stop again: %v", err)
	}
	if _, err := os.Stat(s.Info().DataDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary data directory is still there: %v", err)
	}
}

// startOwn starts a sandbox by way of the package's own functions.
func startOwn(t *testing.T, opts sandbox.Options) *sandbox.Sandbox {
	t.Helper()
	binary, err := sandbox.FindBinary(filepath.Join("..", "..", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	opts.Binary = binary
	s, err := sandbox.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return s
}
