// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/internal/release"
)

func newAppRecordCmd(s Streams) *cobra.Command {
	k := newKube(s)
	var out output
	cmd := &cobra.Command{
		Use:   "record NAME",
		Short: "Show what is remembered of an Application's operations",
		Long: `Show what is remembered of an Application's operations: the one in progress with the result
of each of its steps, the attempts before it, and the last completed release.

This is the content of the Application's ReleaseRecord, which is stored compressed.

Exit codes: 0 shown, 1 there is no such Application or nothing is remembered of it, 2 wrong
usage.`,
		Example: `  wavetrain app record frontend
  wavetrain app record frontend -o json | jq .operation.steps`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeApps(k),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			c, app, err := k.application(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			_, payload, err := release.Load(cmd.Context(), c, client.ObjectKeyFromObject(app), app)
			if err != nil {
				return err
			}
			if payload == nil {
				return fmt.Errorf("application %q: nothing is remembered: it has had no operation yet", app.Name)
			}
			var content any
			if err := json.Unmarshal(payload, &content); err != nil {
				return fmt.Errorf("read release record of application %q: %w", app.Name, err)
			}
			if out.format == "" {
				out.format = "yaml"
			}
			_, err = out.structured(s.Out, content)
			return err
		},
	}
	k.addAppFlags(cmd.Flags())
	out.addFlag(cmd, "yaml", "json")
	return cmd
}
