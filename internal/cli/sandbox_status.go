// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	humanduration "k8s.io/apimachinery/pkg/util/duration"

	"github.com/wavetrain/wavetrain/internal/sandbox"
)

func newSandboxStatusCmd(s Streams, instances sandbox.Instances) *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show one control plane, or all",
		Long: `Show one control plane, or all of them without a name. JSON and YAML hold one object for a
name and a list otherwise.

Exit codes: 0 shown, and the one that is named runs; 1 it does not run or does not exist;
2 wrong usage.`,
		Example: `  wavetrain sandbox status
  wavetrain sandbox status staging -o json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeSandboxes(instances),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			if len(args) == 0 {
				return showSandboxes(s, out, instances)
			}
			return showSandbox(s, out, instances, args)
		},
	}
	out.addFlag(cmd, "json", "yaml")
	return cmd
}

func showSandboxes(s Streams, out output, instances sandbox.Instances) error {
	list, err := instances.List()
	if err != nil {
		return err
	}
	if list == nil {
		list = []sandbox.Status{} // In JSON none is an empty list, not null.
	}
	if done, err := out.structured(s.Out, list); done {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(s.Err, "no sandboxes: `wavetrain sandbox up` starts one")
		return nil
	}
	return sandboxTable(s, list)
}

// showSandbox answers scripts by its exit code, too: it is 1 unless the control plane runs.
func showSandbox(s Streams, out output, instances sandbox.Instances, args []string) error {
	name, err := sandboxName(args)
	if err != nil {
		return err
	}
	status, err := instances.Status(name)
	if err != nil {
		return hintAtUp(err)
	}
	done, err := out.structured(s.Out, status)
	if !done {
		err = sandboxTable(s, []sandbox.Status{status})
	}
	if err != nil {
		return err
	}
	if status.State != sandbox.StateRunning {
		return withCode(exitFailed, nil)
	}
	return nil
}

func sandboxTable(s Streams, list []sandbox.Status) error {
	rows := make([][]string, 0, len(list))
	for _, status := range list {
		var pid, age string
		if status.PID != 0 {
			pid = strconv.Itoa(status.PID)
		}
		if status.StartedAt != nil {
			age = humanduration.HumanDuration(time.Since(*status.StartedAt))
		}
		rows = append(rows, []string{status.Name, string(status.State), status.KubernetesVersion, status.Server, pid, age, status.DataDir})
	}
	return table(s.Out, []string{"NAME", "STATE", "KUBERNETES", "SERVER", "PID", "AGE", "DIRECTORY"}, rows)
}
