// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/sandbox/internal/controlplane"
	"github.com/wavetrain/wavetrain/sandbox/internal/datadir"
	"github.com/wavetrain/wavetrain/sandbox/internal/sim"
	"github.com/wavetrain/wavetrain/sandbox/internal/sim/rules"
	"github.com/wavetrain/wavetrain/sandbox/internal/version"
)

// Streams are where the command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Main runs the command and returns its exit code. Build is the version of Wavetrain. The end of the context stops the control plane.
func Main(ctx context.Context, build string, args []string, streams Streams) int {
	cmd := newCommand(build, streams)
	cmd.SetArgs(args)
	cmd.SetOut(streams.Out)
	cmd.SetErr(streams.Err)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintf(streams.Err, "wavetrain-sandbox: %v\n", err)
	if _, ok := errors.AsType[usageError](err); ok {
		_, _ = fmt.Fprintln(streams.Err, "See 'wavetrain-sandbox --help'.")
		return exitUsage
	}
	return exitFailed
}

// usageError is an error in how the command was called.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// flags are the values of the command's flags.
type flags struct {
	dataDir        string
	port           int
	auditLog       string
	kubeconfigOut  string
	readyFile      string
	output         string
	stopWithParent bool
	verbosity      int

	nodes          int
	rules          string
	rulesConfigMap string
	ruleSets       []string
	withoutCRDs    bool
}

const long = `Run a Kubernetes control plane on this machine: API server, database, the controllers an
application needs, and simulated nodes on which Pods become ready, fail or wait as rules say.

No container is started and nothing else needs to be installed. Without --data-dir
everything is thrown away at the end; with it, a second start continues where the first
one stopped, under the same address and with the same kubeconfig. Several control planes
run side by side, each with a directory and a port of its own.

One line is printed when the control plane is ready. It stops on SIGINT and SIGTERM.
Exit code 0 after such a stop, 1 when it cannot start or a part of it fails, 2 when it is
called in a wrong way.`

const examples = `  # A control plane for as long as this command runs
  wavetrain-sandbox --kubeconfig-out ./kubeconfig

  # One that is kept, with five nodes and rules that direct the simulation
  wavetrain-sandbox --data-dir ~/sandbox/dev --nodes 5 --rules sim.yaml

  # External Secrets and CloudNativePG are simulated as well, with their CRDs
  wavetrain-sandbox --rule-set external-secrets,cnpg

  # Start it from a program: JSON when ready, stops when standard input ends
  wavetrain-sandbox -o json --stop-with-parent`

func newCommand(build string, streams Streams) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:           "wavetrain-sandbox",
		Short:         "Run a Kubernetes control plane with simulated nodes",
		Long:          long,
		Example:       examples,
		Version:       build,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("takes no arguments, got %q", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), f, streams)
		},
	}
	cmd.SetVersionTemplate("wavetrain-sandbox {{.Version}}, Kubernetes " + version.Kubernetes() + "\n")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	cmd.CompletionOptions.DisableDefaultCmd = true
	f.register(cmd)
	return cmd
}

func (f *flags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.dataDir, "data-dir", "", "directory that keeps objects, certificates and logs (default: a temporary one)")
	fs.IntVar(&f.port, "port", 0, "port of the API server on 127.0.0.1; 0 takes that of the last start, or a free one")
	fs.StringVar(&f.kubeconfigOut, "kubeconfig-out", "", "also write the administrator's kubeconfig to this file")
	fs.StringVar(&f.readyFile, "ready-file", "", "write this file, with the same JSON as -o json, when ready; it is removed at the end")
	fs.StringVar(&f.auditLog, "audit-log", "", "record every request to the API server in this file, a line of JSON each")
	fs.IntVar(&f.nodes, "nodes", 3, "number of simulated nodes")
	fs.StringVar(&f.rules, "rules", "", "file of rules that direct the simulation, read again when it changes (default: rules.yaml in the data directory)")
	fs.StringVar(&f.rulesConfigMap, "rules-configmap", "", "NAMESPACE/NAME of a ConfigMap with rules; they come before those of the file")
	fs.StringSliceVar(&f.ruleSets, "rule-set", nil, "shipped rules to use, with their CRDs: "+strings.Join(sim.RuleSetNames(), ", "))
	fs.BoolVar(&f.withoutCRDs, "without-crds", false, "do not install the CRDs of the rule sets")
	fs.StringVarP(&f.output, "output", "o", "text", "form of the line that says it is ready: text or json")
	fs.BoolVar(&f.stopWithParent, "stop-with-parent", false, "stop when standard input ends, as it does when the process that holds it is gone; a line 'reload ID' there reads --rules again, 'next ID' asks how long it takes until the simulation does something, 'skip=DURATION ID' lets that time pass at once; a line of JSON answers each")
	// Kubernetes puts a flag of that name, and of another type, where cobra would find it.
	fs.Bool("version", false, "print the versions of this program and of its Kubernetes")
	fs.IntVarP(&f.verbosity, "verbosity", "v", 0, "verbosity of the logs in the data directory")
}

func run(ctx context.Context, f flags, streams Streams) error {
	opts, err := f.options()
	if err != nil {
		return usageError{err}
	}
	if err := checkRules(opts.RulesFile); err != nil {
		return err
	}
	dir, err := datadir.Open(f.dataDir)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // A temporary directory that stays behind must not hide how it ended.

	logs, err := openLog(dir.Log(), f.verbosity)
	if err != nil {
		return err
	}
	defer logs.close()
	parent := &control{out: streams.Out}
	if f.stopWithParent {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		go func() {
			parent.serve(streams.In)
			cancel()
		}()
	}

	err = controlplane.Run(ctx, dir, opts, logs.logger, func(running controlplane.Running) error {
		parent.attach(running)
		return announce(f, running.Info, streams.Out)
	})
	if f.readyFile != "" {
		err = errors.Join(err, removeIfExists(f.readyFile))
	}
	if err != nil && !dir.Temporary() {
		return fmt.Errorf("%w (log: %s)", err, dir.Log())
	}
	return err
}

// checkRules finds mistakes in the rules before anything is started.
func checkRules(file string) error {
	if file == "" {
		return nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read rules: %w", err)
	}
	_, err = rules.Parse(file, content)
	return err
}

// options checks the flags and turns them into options. Paths become absolute, because they are used later.
func (f *flags) options() (controlplane.Options, error) {
	var none controlplane.Options
	if f.output != "text" && f.output != "json" {
		return none, fmt.Errorf("--output %q: use text or json", f.output)
	}
	if f.port < 0 || f.port > 65535 {
		return none, fmt.Errorf("--port %d: use a number between 1 and 65535, or 0", f.port)
	}
	if f.nodes < 1 {
		return none, fmt.Errorf("--nodes %d: use 1 or more", f.nodes)
	}
	for _, name := range f.ruleSets {
		if !slices.Contains(sim.RuleSetNames(), name) {
			return none, fmt.Errorf("--rule-set %q: there are %s", name, strings.Join(sim.RuleSetNames(), ", "))
		}
	}
	var configMap types.NamespacedName
	if f.rulesConfigMap != "" {
		namespace, name, ok := strings.Cut(f.rulesConfigMap, "/")
		if !ok || namespace == "" || name == "" {
			return none, fmt.Errorf("--rules-configmap %q: use NAMESPACE/NAME", f.rulesConfigMap)
		}
		configMap = types.NamespacedName{Namespace: namespace, Name: name}
	}
	for _, file := range []*string{&f.auditLog, &f.kubeconfigOut, &f.readyFile, &f.rules} {
		if *file == "" {
			continue
		}
		abs, err := filepath.Abs(*file)
		if err != nil {
			return none, err
		}
		*file = abs
	}
	return controlplane.Options{
		Port:           f.port,
		AuditLog:       f.auditLog,
		KubeconfigOut:  f.kubeconfigOut,
		Nodes:          f.nodes,
		RulesFile:      f.rules,
		RulesConfigMap: configMap,
		RuleSets:       f.ruleSets,
		WithoutCRDs:    f.withoutCRDs,
	}, nil
}

// announce says that the control plane is ready: to whoever waits for a line, and to whoever waits for a file.
func announce(f flags, info controlplane.Info, out io.Writer) error {
	line, err := json.Marshal(info)
	if err != nil {
		return fmt.Errorf("encode ready line: %w", err)
	}
	if f.readyFile != "" {
		partial := f.readyFile + ".partial"
		if err := os.WriteFile(partial, append(line, '\n'), 0o600); err != nil {
			return fmt.Errorf("write ready file: %w", err)
		}
		if err := os.Rename(partial, f.readyFile); err != nil {
			return fmt.Errorf("write ready file: %w", err)
		}
	}
	if f.output == "json" {
		_, err = fmt.Fprintf(out, "%s\n", line)
	} else {
		_, err = fmt.Fprintf(out, "ready after %.1f s: %s, Kubernetes %s, kubeconfig %s\n",
			info.ReadySeconds, info.Server, info.KubernetesVersion, info.Kubeconfig)
	}
	if err != nil {
		return fmt.Errorf("write ready line: %w", err)
	}
	return nil
}

func removeIfExists(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove ready file: %w", err)
	}
	return nil
}
