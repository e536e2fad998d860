// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/report/waves"
)

// wavesArguments are the arguments of "wavetrain waves".
type wavesArguments struct {
	inputs      []string
	valueFiles  []string
	set         []string
	setString   []string
	release     string
	namespace   string
	kubeVersion string
	apiVersions []string
	plugins     pluginFlags
	output      output
	check       string
}

func newWavesCmd(s Streams) *cobra.Command {
	var a wavesArguments
	cmd := &cobra.Command{
		Use:   "waves PATH... | -",
		Short: "Show which resources are created in which phase and wave, and why",
		Long: `Show the resources of one or more services per phase and wave, what each is for, and why
the order is as it is.

PATH is a chart, a kustomization, a directory of manifests, or a file with Applications or
manifests. Sources of Applications are read from the local repository: its root is the
nearest directory with a .wavetrain.yaml, else the top level of the Git work tree.
"-" reads rendered manifests from standard input.

Purposes come from the annotation wavetrain.dev/purpose, from purposes in .wavetrain.yaml,
or are inferred from the object.

Exit codes: 0 done, 1 the page of --check is stale or an input cannot be rendered, 2 usage.`,
		Example: `  wavetrain waves charts/shop -f environments/prod.yaml
  wavetrain waves apps/*.yaml -o markdown > WAVES.md
  wavetrain waves apps/*.yaml --check WAVES.md
  helm template shop charts/shop | wavetrain waves -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.inputs = args
			return a.run(cmd.Context(), s)
		},
	}
	a.addRenderFlags(cmd)
	a.output.addFlag(cmd, "table", "markdown", "html", "json")
	cmd.Flags().StringVar(&a.check, "check", "", "compare with the page in this file and fail if it is stale")
	return cmd
}

// addRenderFlags adds the flags that say how sources are rendered.
func (a *wavesArguments) addRenderFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVarP(&a.valueFiles, "values", "f", nil, "value file for Helm; can be given several times, later ones win")
	f.StringArrayVar(&a.set, "set", nil, "set a Helm value: a.b=c (several, separated by commas)")
	f.StringArrayVar(&a.setString, "set-string", nil, "set a Helm value that stays text")
	f.StringVar(&a.release, "release", "", "name of the release (default: the chart's name)")
	f.StringVarP(&a.namespace, "namespace", "n", "", "destination namespace (default: \"default\", or the Application's)")
	f.StringVar(&a.kubeVersion, "kube-version", "", "Kubernetes version to render for")
	f.StringSliceVar(&a.apiVersions, "api-versions", nil, "API versions to render for, besides the built-in ones")
	a.plugins.addFlag(f)
}

func (a *wavesArguments) run(ctx context.Context, s Streams) error {
	if err := a.validate(); err != nil {
		return err
	}
	collector, err := a.collector(s)
	if err != nil {
		return err
	}
	if err := collector.collect(ctx); err != nil {
		return err
	}
	for _, w := range collector.warnings {
		if w.Severity != diag.Info {
			fmt.Fprintf(s.Err, "warning: %s\n", w.Message)
		}
	}
	format := a.format()
	page := waves.Build(waves.Input{
		Services: collector.services,
		Command:  a.command(format, collector.root),
		Digest:   collector.digest(),
	})
	text, err := writePage(page, format)
	if err != nil {
		return err
	}
	if a.check != "" {
		return a.compare(s, text)
	}
	_, err = s.Out.Write(text)
	return err
}

func (a *wavesArguments) validate() error {
	if err := a.output.check(); err != nil {
		return err
	}
	stdin := 0
	for _, in := range a.inputs {
		if in == "-" {
			stdin++
		}
	}
	switch {
	case stdin > 1:
		return usageError("standard input can be read only once")
	case a.release != "" && len(a.inputs) > 1:
		return usageError("--release names one release, but there are %d inputs", len(a.inputs))
	}
	return nil
}

// format is the format asked for; with --check and no -o that of the file.
func (a *wavesArguments) format() string {
	switch {
	case a.output.format != "":
		return a.output.format
	case a.check == "":
		return "table"
	}
	switch strings.ToLower(filepath.Ext(a.check)) {
	case ".md", ".markdown":
		return "markdown"
	case ".html", ".htm":
		return "html"
	case ".json":
		return "json"
	default:
		return "table"
	}
}

func writePage(page *waves.Page, format string) ([]byte, error) {
	switch format {
	case "json":
		return page.JSON()
	case "html":
		text, err := page.HTML()
		return []byte(text), err
	case "markdown":
		return []byte(page.Markdown()), nil
	default:
		return []byte(page.Text()), nil
	}
}

// compare fails if the file does not hold the page.
func (a *wavesArguments) compare(s Streams, page []byte) error {
	have, err := os.ReadFile(a.check)
	if err != nil {
		return fmt.Errorf("read the page to check: %w", err)
	}
	if bytes.Equal(have, page) {
		return nil
	}
	if _, err := s.Out.Write(diff.Diff(a.check, have, "now", page)); err != nil {
		return err
	}
	return fmt.Errorf("%s is stale: write it again with -o %s", a.check, a.format())
}

// command is the command that makes this page again, with paths from the root
// of the repository.
func (a *wavesArguments) command(format, root string) string {
	words := []string{"wavetrain", "waves"}
	for _, in := range a.inputs {
		words = append(words, fromRoot(root, in))
	}
	for _, f := range a.valueFiles {
		words = append(words, "-f", fromRoot(root, f))
	}
	for _, v := range a.set {
		words = append(words, "--set", v)
	}
	for _, v := range a.setString {
		words = append(words, "--set-string", v)
	}
	for _, flag := range [][2]string{
		{"--release", a.release}, {"-n", a.namespace}, {"--kube-version", a.kubeVersion}, {"--api-versions", strings.Join(a.apiVersions, ",")},
	} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	words = append(words, "-o", format)
	for i, w := range words {
		words[i] = shellWord(w)
	}
	return strings.Join(words, " ")
}

// fromRoot writes a path of the command line relative to the repository's root,
// if it is below.
func fromRoot(root, name string) string {
	if name == "-" || root == "" {
		return name
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	rel, err := filepath.Rel(root, abs)
	if err != nil || leaves(rel) {
		return name
	}
	return filepath.ToSlash(rel)
}

// shellWord quotes a word that a shell would take apart.
func shellWord(w string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,@%+", r)
	}
	if w != "" && strings.IndexFunc(w, func(r rune) bool { return !safe(r) }) < 0 {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
