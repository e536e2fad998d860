// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/wavetrain/wavetrain/internal/sandbox"
)

// upFlags are the flags of `up`.
type upFlags struct {
	name, dataDir string
	nodes         int
	rules         string
	kubeconfigOut string
	timelineOut   string
	logFile       string
	whenSynced    bool
	timeout       duration
	// giveUp is how long an Application has to stay failed before --exit-when-synced
	// gives up: what made it fail may change, and then it is taken up again.
	giveUp time.Duration
}

const upLong = `Start a Kubernetes control plane on this machine, serve the Git repository in DIR (default
the current directory) to it, and roll out what is committed there, wave by wave. No cluster
and no container runtime is needed: Pods are simulated, everything else is Kubernetes itself.

What is committed counts, as in a real repository. Commit a change and it rolls out.

The Applications' repoURL is served from DIR when it is the one that .wavetrain.yaml names:

  repository: https://github.com/acme/shop.git
  bootstrap:
    - bootstrap/root.yaml

Without "repository", the work tree stands for the URLs of its Git remotes. What is applied
first is what "bootstrap" lists, else all manifests in DIR/bootstrap, else the Applications
in DIR.

When everything is Synced and Healthy, a timeline is printed, and then the proof that the
order was kept: by the resourceVersions of the API server's own events, recorded before
anything was applied.

External Secrets and CloudNativePG are simulated; --rules directs what Pods and other
people's controllers do, and what goes wrong.

Exit codes:
  0    everything is Synced and Healthy: with --exit-when-synced as soon as it is, without
       it when Ctrl-C came after it was
  1    an Application failed (with --exit-when-synced), the order was not kept, or something
       could not be started
  2    wrong usage
  4    --timeout is over; what was still waited for is printed
  130  Ctrl-C came before everything was Synced and Healthy`

const upExample = `  # The repository in this directory, until Ctrl-C
  wavetrain up

  # In CI: does everything come up?
  wavetrain up . --exit-when-synced --timeout 5m

  # With Vault refusing, as rules say
  wavetrain up examples/ask --rules vault-down.yaml

  # Keep the cluster for the next time
  wavetrain up --name shop

  # From another terminal, while it runs
  wavetrain up --kubeconfig-out kubeconfig &
  KUBECONFIG=kubeconfig wavetrain app list`

func newUpCmd(s Streams) *cobra.Command {
	f := upFlags{timeout: duration{10 * time.Minute}, giveUp: 10 * time.Second}
	cmd := &cobra.Command{
		Use:     "up [DIR]",
		Short:   "Roll a Git repository out on an embedded control plane",
		Long:    upLong,
		Example: upExample,
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			if err := f.check(cmd.Flags().Changed("timeout")); err != nil {
				return err
			}
			return newUp(s, dir, f).run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.whenSynced, "exit-when-synced", false, "exit as soon as everything is Synced and Healthy, or an Application failed")
	flags.Var(&f.timeout, "timeout", "how long to wait with --exit-when-synced (a duration, or seconds); 0 waits for ever")
	flags.StringVar(&f.name, "name", "", "keep the control plane's data under this name, and continue it the next time (default: in memory)")
	flags.StringVar(&f.dataDir, "data-dir", "", "keep the control plane's data in this directory, and continue it the next time")
	flags.IntVar(&f.nodes, "nodes", 0, "number of simulated nodes (default 3)")
	flags.StringVar(&f.rules, "rules", "", "file of rules that direct the simulation, read again when it changes")
	flags.StringVar(&f.kubeconfigOut, "kubeconfig-out", "", "write the kubeconfig to this file while the control plane runs")
	flags.StringVar(&f.timelineOut, "timeline-out", "", "write what happened, and the proofs, as JSON to this file")
	flags.StringVar(&f.logFile, "log-file", "", "write the controller's log to this file (default: not kept)")
	return cmd
}

func (f *upFlags) check(timeoutGiven bool) error {
	switch {
	case f.name != "" && f.dataDir != "":
		return usageError("--name and --data-dir exclude each other")
	case f.nodes < 0:
		return usageError("--nodes cannot be negative")
	case timeoutGiven && !f.whenSynced:
		return usageError("--timeout needs --exit-when-synced: without it, `up` stays until Ctrl-C")
	case f.timeout.Duration < 0:
		return usageError("--timeout cannot be negative")
	}
	if f.name != "" {
		if err := sandbox.CheckName(f.name); err != nil {
			return usageError("%w", err)
		}
	}
	// The control plane runs elsewhere: it needs paths that hold there, too.
	for _, path := range []*string{&f.dataDir, &f.rules} {
		if *path == "" {
			continue
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = abs
	}
	if f.rules != "" {
		if _, err := os.Stat(f.rules); err != nil {
			return usageError("--rules %s: %v", f.rules, errors.Unwrap(err))
		}
	}
	return nil
}
