// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Command bench measures Wavetrain against floors: what the same work costs a bare client on the same API server in the
// same run. It starts an embedded control plane, a Git server and `wavetrain serve` as a process of its own, and reads
// that process's CPU time and memory from /proc and its requests from the API server's audit log.
//
// It looks at Wavetrain from outside. What it measures must not depend on what the engine says about itself.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/wavetrain/wavetrain/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	streams := cli.SystemStreams()
	err := run(ctx, os.Args[1:], streams, nil)
	stop()
	if err != nil {
		fmt.Fprintf(streams.Err, "error: %v\n", err)
		os.Exit(1)
	}
}

// run is main without the process.
func run(ctx context.Context, args []string, s cli.Streams, given *controlPlane) error {
	root := newRootCmd(s, given)
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

// errMissed is the error of --enforce.
var errMissed = errors.New("a figure misses its target")

// bench is what all scenarios share.
type bench struct {
	streams cli.Streams
	// given is a control plane that runs already; nil has each scenario start one.
	given *controlPlane

	wavetrain   string
	sandbox     string
	output      string
	concurrency int
	workers     int
	pollAfter   time.Duration
	profile     string
	controlLog  string
	enforce     bool
}

const longHelp = `Measure Wavetrain against floors.

Each scenario starts an embedded control plane and 'wavetrain serve' as a process of its own.
Where a figure has a floor, the floor is measured in the same run, on the same API server,
with the same concurrency:

  A  a bare client that server-side-applies the same objects
  B  the same client that also creates the Applications, dry-runs every object once, and
     writes the status of every Application twice

'make build' makes the two binaries that are needed.`

func newRootCmd(s cli.Streams, given *controlPlane) *cobra.Command {
	b := &bench{streams: s, given: given}
	root := &cobra.Command{
		Use: "bench", Short: "Measure Wavetrain against floors", Long: longHelp,
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(*cobra.Command, []string) error {
			// controller-runtime complains when it has nowhere to log to.
			ctrl.SetLogger(logr.Discard())
			return b.check()
		},
	}
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	flags := root.PersistentFlags()
	flags.SortFlags = false
	flags.StringVarP(&b.output, "output", "o", "table", "table or json")
	flags.StringVar(&b.wavetrain, "wavetrain", filepath.Join("bin", "wavetrain"), "the binary that is measured")
	flags.StringVar(&b.sandbox, "sandbox", "", "wavetrain-sandbox (default: in bin or on PATH)")
	flags.IntVar(&b.concurrency, "concurrency", 10, "Applications that a floor works on side by side; each with up to 8 objects of a wave at once, as the engine")
	flags.IntVar(&b.workers, "workers", 10, "--workers of 'wavetrain serve'")
	flags.DurationVar(&b.pollAfter, "poll-interval", 2*time.Minute, "--poll-interval of 'wavetrain serve'")
	flags.StringVar(&b.profile, "cpuprofile", "", "write a CPU profile of the controller while it is measured to this file")
	flags.StringVar(&b.controlLog, "log", "", "write the controller's log to this file")
	flags.BoolVar(&b.enforce, "enforce", false, "exit with code 1 when a figure misses its target")
	root.AddCommand(newColdCmd(b), newPeersCmd(b), newWavesCmd(b), newDriftCmd(b), newSteadyCmd(b), newMemoryCmd(b), newRestartCmd(b), newCyclesCmd(b), newMonorepoCmd(b))
	return root
}

func (b *bench) check() error {
	switch {
	case b.output != "table" && b.output != "json":
		return fmt.Errorf("--output %q is not known: use table or json", b.output)
	case b.concurrency < 1 || b.workers < 1:
		return errors.New("--concurrency and --workers must be at least 1")
	}
	return nil
}

// report prints what a scenario has found.
func (b *bench) report(r *Report) error {
	if err := r.print(b.streams.Out, b.output); err != nil {
		return err
	}
	if b.enforce && r.missed() {
		return errMissed
	}
	return nil
}

// say tells a person how far it is.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.streams.Err, "%s "+format+"\n", append([]any{time.Now().Format("15:04:05")}, args...)...)
}

// pause waits without outliving ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
