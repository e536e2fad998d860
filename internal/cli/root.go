// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes. Every command documents which of them it uses.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitTimeout     = 4
	exitInterrupted = 130
)

// exitError is an error with an exit code. Without a cause nothing more is
// printed: the command has said what there is to say.
type exitError struct {
	code int
	err  error
	// usage is true for a mistake in how the command was called.
	usage bool
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// misused tells whether the command was called in a wrong way.
func (e *exitError) misused() bool {
	var inner *exitError
	return e.usage || errors.As(e.err, &inner) && inner.misused()
}

func withCode(code int, err error) error { return &exitError{code: code, err: err} }

// usageError is a mistake in how a command was called.
func usageError(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...), usage: true}
}

// Main runs the command line and returns the process's exit code. The first
// Ctrl-C cancels the command, which cleans up; the second ends the process at
// once.
func Main(version string, args []string, s Streams) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		// From here on a second signal has its default effect.
		stop()
	}()
	return run(ctx, version, args, s)
}

// run is Main without the signals.
func run(ctx context.Context, version string, args []string, s Streams) int {
	root := newRootCmd(version, s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return exitInterrupted
	}
	var coded *exitError
	if !errors.As(err, &coded) {
		fmt.Fprintf(s.Err, "error: %v\n", err)
		return exitFailed
	}
	if coded.err != nil {
		fmt.Fprintf(s.Err, "error: %v\n", coded.err)
		if coded.misused() {
			fmt.Fprintf(s.Err, "See '%s --help'.\n", commandPath(root, args))
		}
	}
	return coded.code
}

// commandPath names the command that args meant, as far as it exists.
func commandPath(root *cobra.Command, args []string) string {
	if cmd, _, err := root.Find(args); err == nil {
		return cmd.CommandPath()
	}
	return root.CommandPath()
}

func newRootCmd(version string, s Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "wavetrain",
		Short: "GitOps delivery for Kubernetes, wave by wave",
		Long: `Wavetrain delivers to Kubernetes from Git in the order things must happen in.

It reads the Application and AppProject objects and the annotations of Argo CD, works out
which resources are created in which phase and wave, and rolls them out step by step.

Start with:
  wavetrain waves CHART          the resources per phase and wave, as a page
  wavetrain verify PATH          whether that order can work
  wavetrain up DIR               an embedded control plane that follows the Git repository in DIR`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetVersionTemplate("wavetrain {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError("%w", err) })
	root.AddCommand(commands(version, s)...)
	for _, cmd := range allCommands(root) {
		if check := cmd.Args; check != nil {
			cmd.Args = func(cmd *cobra.Command, args []string) error {
				if err := check(cmd, args); err != nil {
					return usageError("%w", err)
				}
				return nil
			}
		}
	}
	return root
}

func commands(version string, s Streams) []*cobra.Command {
	return []*cobra.Command{
		newWavesCmd(s),
		newRenderCmd(s),
		newDiffCmd(s),
		newVerifyCmd(s, version),
		newExplainCmd(s),
		newPlanCmd(s),
		newSyncCmd(s),
		newRehearseCmd(s),
		newWhyCmd(s),
		newUpCmd(s),
		newAppCmd(s),
		newRepoCmd(s),
		newServeCmd(s),
		newSandboxCmd(s),
		newVersionCmd(s, version),
		newRenderWorkerCmd(s), newRenderProgramCmd(s),
	}
}

func allCommands(cmd *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{cmd}
	for _, child := range cmd.Commands() {
		list = append(list, allCommands(child)...)
	}
	return list
}
