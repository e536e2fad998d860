// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wavetrain/wavetrain/internal/sandbox"
)

func TestMain(m *testing.M) {
	// Commands that run in this process start it again as a worker or for a plugin.
	if len(os.Args) > 1 && (os.Args[1] == workerCommand || os.Args[1] == programCommand) {
		os.Exit(Main("v0.0.0-test", os.Args[1:], SystemStreams()))
	}
	// The control plane's binary is looked for on PATH.
	bin, err := filepath.Abs("../../bin")
	if err == nil {
		err = os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testscript.Main(m, map[string]func(){
		"wavetrain": func() { os.Exit(Main("v0.0.0-test", os.Args[1:], SystemStreams())) },
	})
}

// TestScripts runs the scripts of testdata/script: what the command line says and
// returns without a cluster.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireUniqueNames: true,
		Cmds:  map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Setup: stopSandboxes,
	})
}

// stopSandboxes sees that a script which fails leaves no sandbox running in the background.
func stopSandboxes(env *testscript.Env) error {
	state := filepath.Join(env.WorkDir, "state")
	env.Setenv("XDG_STATE_HOME", state)
	env.Defer(func() {
		instances := sandbox.Instances{Dir: filepath.Join(state, "wavetrain", "sandboxes")}
		list, err := instances.List()
		if err != nil {
			panic(err)
		}
		for _, status := range list {
			if err := instances.Delete(context.Background(), status.Name); err != nil {
				panic(err)
			}
		}
	})
	return nil
}

// exits is the script command "exits CODE COMMAND...": it runs the command and
// wants that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// talk is an output that can be waited on.
type talk struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func newTalk() *talk { return &talk{changed: make(chan struct{})} }

func (o *talk) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.text.Write(p)
}

func (o *talk) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// slowMachine is how many times longer than on an idle machine something may take:
// packages are tested side by side, on two cores, and under the race detector.
const slowMachine = 4

// await waits until the text appears.
func (o *talk) await(t *testing.T, text string, within time.Duration) {
	t.Helper()
	within *= slowMachine
	timer := time.NewTimer(within)
	defer timer.Stop()
	for {
		o.mu.Lock()
		changed, found := o.changed, strings.Contains(o.text.String(), text)
		o.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			t.Fatalf("%q has not appeared within %s:\n%s", text, within, o)
		}
	}
}

// running is a command that runs.
type running struct {
	out, err *talk
	stop     context.CancelFunc
	done     chan int
}

// start runs a command line with a home of its own.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	home := t.TempDir()
	env := map[string]string{"HOME": home, "PATH": os.Getenv("PATH")}
	r := &running{out: newTalk(), err: newTalk(), done: make(chan int, 1)}
	streams := Streams{
		In: strings.NewReader(""), Out: r.out, Err: r.err,
		Env:     func(name string) string { return env[name] },
		Environ: []string{"HOME=" + home, "PATH=" + env["PATH"]},
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	go func() { r.done <- run(ctx, "v0.0.0-test", args, streams) }()
	t.Cleanup(func() {
		cancel()
		<-r.done
	})
	return r
}

// exit waits for the end of the command and returns its exit code.
func (r *running) exit(t *testing.T, within time.Duration) int {
	t.Helper()
	within *= slowMachine
	select {
	case code := <-r.done:
		r.done <- code
		return code
	case <-time.After(within):
		t.Fatalf("still running after %s:\n%s", within, r.err)
		return 0
	}
}

// call runs a command to its end.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	r := start(t, args...)
	code = r.exit(t, time.Minute)
	return code, r.out.String(), r.err.String()
}
