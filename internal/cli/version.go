// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// versionInfo says what a binary was made from.
type versionInfo struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionCmd(s Streams, version string) *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := out.check(); err != nil {
				return err
			}
			info := versionInfo{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
			if done, err := out.structured(s.Out, info); done {
				return err
			}
			_, err := fmt.Fprintf(s.Out, "wavetrain %s (%s, %s)\n", info.Version, info.Go, info.Platform)
			return err
		},
	}
	out.addFlag(cmd, "json", "yaml")
	return cmd
}
