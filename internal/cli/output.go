// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// output is the flag -o.
type output struct {
	format  string
	allowed []string
}

func (o *output) addFlag(cmd *cobra.Command, allowed ...string) {
	o.allowed = allowed
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "output format: "+strings.Join(allowed, ", "))
	// The flag exists: it was made in the line above.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp))
}

func (o *output) check() error {
	if o.format == "" || slices.Contains(o.allowed, o.format) {
		return nil
	}
	return usageError("--output %q is not known: use %s", o.format, strings.Join(o.allowed, ", "))
}

// structured prints v as JSON or YAML and reports whether the format asked for
// one of them.
func (o *output) structured(w io.Writer, v any) (bool, error) {
	switch o.format {
	case "json":
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return true, enc.Encode(v)
	case "yaml":
		data, err := yaml.Marshal(v)
		if err != nil {
			return true, err
		}
		_, err = w.Write(data)
		return true, err
	}
	return false, nil
}

// table prints rows under a header in kubectl's style.
func table(w io.Writer, header []string, rows [][]string) error {
	tw := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		for i, cell := range row {
			if cell == "" {
				row[i] = "-"
			}
		}
		if _, err := fmt.Fprintln(tw, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return tw.Flush()
}

func splitPathList(list string) []string { return filepath.SplitList(list) }

func shortRevision(revision string) string {
	if len(revision) == 40 {
		return revision[:7]
	}
	return revision
}
