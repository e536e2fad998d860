// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wavetrain/wavetrain/docs/checks"
	"github.com/wavetrain/wavetrain/internal/verify"
)

func newExplainCmd(s Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Say what a finding means, with a bad and a good example",
		Long: `Say what a finding of "wavetrain verify" means and what to do about it. Without a code all of
them are listed.

Exit codes: 0 done, 2 there is no such code.`,
		Example: `  wavetrain explain
  wavetrain explain missing-dependency`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(codeNames(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listCodes(s)
			}
			code := verify.Alias(strings.ToLower(args[0]))
			if !slices.Contains(codeNames(), code) {
				return usageError("there is no finding %q; they are %s", args[0], strings.Join(codeNames(), ", "))
			}
			page, err := checks.Pages.ReadFile(code + ".md")
			if err != nil {
				return err
			}
			_, err = s.Out.Write(page)
			return err
		},
	}
}

func codeNames() []string {
	codes := verify.Codes()
	names := make([]string, len(codes))
	for i, c := range codes {
		names[i] = c.Name
	}
	slices.Sort(names)
	return names
}

func listCodes(s Streams) error {
	codes := verify.Codes()
	slices.SortFunc(codes, func(a, b verify.Code) int { return strings.Compare(a.Name, b.Name) })
	rows := make([][]string, len(codes))
	for i, c := range codes {
		rows[i] = []string{c.Name, string(c.Severity), c.Summary}
	}
	return table(s.Out, []string{"CODE", "SEVERITY", "FINDS"}, rows)
}
