// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/docs/checks"
	"github.com/wavetrain/wavetrain/internal/config"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/verify"
)

func newExplainCmd(s Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Say what a finding means, with a bad and a good example",
		Long: `Say what a finding of "wavetrain verify" means and what to do about it: by its code, or by the
name of a rule in the .wavetrain.yaml of the repository that one stands in. Without a code all of
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
				return explainRule(s, args[0])
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

// explainRule says what a rule of the repository wants, and where it is written.
func explainRule(s Streams, name string) error {
	repo, err := openLocalRepo(".")
	if err != nil {
		return fmt.Errorf("look for the rules of this repository: %w", err)
	}
	rules := repo.config.Verify.Rules
	at := slices.IndexFunc(rules, func(r config.Rule) bool { return strings.EqualFold(r.Name, name) })
	if at < 0 {
		names := codeNames()
		for _, r := range rules {
			names = append(names, r.Name)
		}
		return usageError("there is no finding %q; they are %s", name, strings.Join(names, ", "))
	}
	page, err := ruleText(rules[at], repo.configFile())
	if err != nil {
		return err
	}
	_, err = s.Out.Write(page)
	return err
}

// ruleText describes a rule in the form of the pages of checks.
func ruleText(r config.Rule, file string) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\nSeverity: %s\n\nA rule of this repository, at %s:%d: %s.\n\n", r.Name, severityOf(r), file, r.Line, strings.TrimSuffix(r.Message, "."))
	for _, row := range []struct{ what, value string }{{"Objects", r.Match}, {"Files", r.Path}, {"Holds when", r.Holds}} {
		fmt.Fprintf(&b, "%-11s %s\n", row.what+":", cmp.Or(row.value, "all"))
	}
	for n, test := range r.Tests {
		heading := "Bad"
		if test.Holds {
			heading = "Good"
		}
		text, err := yaml.Marshal(test.Object)
		if err != nil {
			return nil, fmt.Errorf("write test %d of rule %s: %w", n+1, r.Name, err)
		}
		if test.Name != "" {
			heading += ": " + test.Name
		}
		fmt.Fprintf(&b, "\n## %s\n\n```yaml\n%s```\n", heading, text)
	}
	return b.Bytes(), nil
}

// severityOf is the severity of a rule's findings.
func severityOf(r config.Rule) diag.Severity {
	return cmp.Or(diag.Severity(r.Severity), diag.Error)
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
	rows := make([][]string, 0, len(codes))
	for _, c := range codes {
		rows = append(rows, []string{c.Name, string(c.Severity), c.Summary})
	}
	// What a broken configuration says is no matter of the codes.
	if repo, err := openLocalRepo("."); err == nil {
		for _, r := range repo.config.Verify.Rules {
			rows = append(rows, []string{r.Name, string(severityOf(r)), r.Message + " (rule of this repository)"})
		}
	}
	return table(s.Out, []string{"CODE", "SEVERITY", "FINDS"}, rows)
}
