// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/project"
	"github.com/wavetrain/wavetrain/internal/rollout"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/settings"
	"github.com/wavetrain/wavetrain/internal/source"
)

// serveFlags are the flags of `serve`.
type serveFlags struct {
	pollInterval  duration
	gateTimeout   duration
	gateStuck     duration
	gateGrace     duration
	healBase      duration
	healLimit     duration
	healQuiet     duration
	workers       int
	render        renderFlags
	appNamespaces []string
	// namespacesGiven is true if the flag was, even without a value: then no
	// ConfigMap is asked.
	namespacesGiven bool
	// intervalGiven is true if --poll-interval was: then the settings do not matter.
	intervalGiven  bool
	clusterWrites  int
	leaderElect    bool
	metricsAddress string
	healthAddress  string
	webhookAddress string
	profiling      bool
	dataDir        string
	installCRDs    bool
	logFormat      string
	verbosity      int
}

func newServeCmd(s Streams) *cobra.Command {
	k := newKube(s)
	gates := machine.Limits{}.WithDefaults()
	f := serveFlags{
		render:       defaultRenderFlags(),
		pollInterval: duration{2 * time.Minute},
		gateTimeout:  duration{gates.NoProgress}, gateStuck: duration{gates.Stuck}, gateGrace: duration{gates.FlapGrace},
		healBase: duration{2 * time.Second}, healLimit: duration{5 * time.Minute}, healQuiet: duration{10 * time.Minute},
	}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the controller that rolls Applications out",
		Long: `Run the controller that rolls Applications out, with a kubeconfig or inside a cluster, until
SIGTERM or Ctrl-C. Rollouts in progress are continued by the next start.

Applications live in --namespace, and in the namespaces that --application-namespaces, or without
it the key application.namespaces of the ConfigMap argocd-cmd-params-cm, permits in addition:
names, globs like 'team-*', or regular expressions between slashes. The project of such an
Application must list its namespace in spec.sourceNamespaces. Applications anywhere else are not
touched. Without names of other namespaces the controller reads no Applications outside of --namespace.

The log goes to standard error. With --metrics-address and --health-address, Prometheus
metrics are served below /metrics and probes below /healthz and /readyz.

Exit codes: 0 stopped by a signal, 1 it could not start or lost its cluster or its lease,
2 wrong usage.`,
		Example: `  # The cluster of the current kubeconfig context, from this machine
  wavetrain serve --install-crds

  # Applications in the namespaces of teams, too
  wavetrain serve --application-namespaces 'team-*,payments'

  # In a cluster, two replicas of which one acts
  wavetrain serve --leader-elect --metrics-address :8080 --health-address :8081 --log-format json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			f.namespacesGiven = cmd.Flags().Changed("application-namespaces")
			f.intervalGiven = cmd.Flags().Changed("poll-interval")
			return serve(cmd.Context(), s, k, f, cmd.Root().Version)
		},
	}
	flags := cmd.Flags()
	k.addFlags(flags)
	flags.Var(&f.pollInterval, "poll-interval", "how often to look for new commits, in seconds or as a duration; without the flag timeout.reconciliation of argocd-cm counts")
	flags.Var(&f.gateTimeout, "gate-timeout", "how long a wave waits while nothing about its objects moves; GateTimeout on an Application or object wins")
	flags.Var(&f.gateStuck, "gate-stuck", "the same while an image cannot be pulled, a container crashes or a configuration is missing")
	flags.Var(&f.gateGrace, "gate-grace", "how long an object of a kind that flaps may be Degraded; GateGrace on an Application or object wins")
	flags.Var(&f.healBase, "heal-backoff", "how long a field that drifts again after it was healed waits for the next heal; three times as long each time")
	flags.Var(&f.healLimit, "heal-backoff-limit", "how long that wait becomes at most")
	flags.Var(&f.healQuiet, "heal-quiet", "after how long without a heal it is forgotten that a field was healed")
	flags.IntVar(&f.workers, "workers", 10, "how many Applications are looked at side by side")
	flags.StringSliceVar(&f.appNamespaces, "application-namespaces", nil, "other namespaces of Applications: names, globs, or regular expressions between slashes (default: as argocd-cmd-params-cm says)")
	flags.IntVar(&f.clusterWrites, "cluster-writes", rollout.DefaultWrites, "how many calls the rollouts on one cluster make at once; those that began first go first")
	flags.BoolVar(&f.leaderElect, "leader-elect", false, "let one of several controllers act, chosen by a Lease in --namespace")
	flags.StringVar(&f.metricsAddress, "metrics-address", "", "address to serve metrics on, for example :8080 (default: none)")
	flags.StringVar(&f.webhookAddress, "webhook-address", "", "address at which Git servers announce pushes, below /api/webhook, for example :8082 (default: none)")
	flags.StringVar(&f.healthAddress, "health-address", "", "address to serve probes on, for example :8081 (default: none)")
	flags.BoolVar(&f.profiling, "profiling", false, "serve profiles of Go's runtime below /debug/pprof/ on --metrics-address; for people who may see everything")
	flags.StringVar(&f.dataDir, "data-dir", "", "directory for copies of Git repositories and for renderings; it may be lost at any time (default: in the cache directory)")
	flags.BoolVar(&f.installCRDs, "install-crds", false, "install or update the definitions of Applications, AppProjects and ReleaseRecords first")
	flags.StringVar(&f.logFormat, "log-format", logText, "text or json")
	f.render.addFlags(flags)
	flags.CountVarP(&f.verbosity, "verbose", "v", "log more; may be repeated")
	// The flag exists: it was made above.
	_ = cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions([]cobra.Completion{logText, logJSON}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (f *serveFlags) check() error {
	_, malformed := project.ReadNamespaces(f.appNamespaces)
	switch {
	case f.pollInterval.Duration < time.Second:
		return usageError("--poll-interval %s is too short: one second at least", f.pollInterval)
	case f.gateTimeout.Duration <= 0 || f.gateStuck.Duration <= 0 || f.gateGrace.Duration <= 0:
		return usageError("--gate-timeout, --gate-stuck and --gate-grace must be longer than nothing")
	case f.healBase.Duration <= 0 || f.healLimit.Duration <= 0 || f.healQuiet.Duration <= 0:
		return usageError("--heal-backoff, --heal-backoff-limit and --heal-quiet must be longer than nothing")
	case malformed != nil:
		return usageError("--application-namespaces: %v", malformed)
	case f.profiling && f.metricsAddress == "":
		return usageError("--profiling needs --metrics-address, where profiles are served")
	case f.workers < 1 || f.clusterWrites < 1:
		return usageError("--workers and --cluster-writes must be at least 1")
	case !slices.Contains([]string{logText, logJSON}, f.logFormat):
		return usageError("--log-format %q is not known: use %s or %s", f.logFormat, logText, logJSON)
	}
	return f.render.check()
}

func serve(ctx context.Context, s Streams, k *kube, f serveFlags, version string) error {
	if s.Env("GOGC") == "" {
		paceGarbage()
	}
	log := newLogger(s.Err, f.logFormat, f.verbosity)
	cfg, err := k.restConfig()
	if err != nil {
		return err
	}
	// The audit log of a cluster should name us, whatever the binary is called.
	cfg.UserAgent = "wavetrain/" + version
	if f.installCRDs {
		if err := installDefinitions(ctx, k, log); err != nil {
			return err
		}
	}
	dir, renderings := f.dataDir, filepath.Join(f.dataDir, "renderings")
	if dir == "" {
		dir, renderings = filepath.Join(s.cacheDir(), "repositories"), filepath.Join(s.cacheDir(), "renderings")
	}
	if !f.namespacesGiven {
		if f.appNamespaces, err = configuredNamespaces(ctx, k); err != nil {
			return err
		}
	}
	if !f.intervalGiven {
		if f.pollInterval, err = configuredInterval(ctx, k, log, f.pollInterval); err != nil {
			return err
		}
	}
	store, err := source.NewStore(source.Options{Dir: dir, Env: s.gitEnv()})
	if err != nil {
		return err
	}
	defer store.Close()
	rendering, endWorkers, err := f.render.rendering(s, renderings)
	if err != nil {
		return err
	}
	defer endWorkers()
	c, err := controller.New(controller.Options{
		Rendering: rendering,
		Config:    cfg, Namespace: k.namespace, ApplicationNamespaces: f.appNamespaces, Sources: store,
		PollInterval: f.pollInterval.Duration, Workers: f.workers, ClusterWrites: f.clusterWrites, LeaderElection: f.leaderElect,
		Limits: machine.Limits{
			NoProgress: f.gateTimeout.Duration, Stuck: f.gateStuck.Duration, FlapGrace: f.gateGrace.Duration,
		},
		Heal:           controller.HealBackoff{Base: f.healBase.Duration, Limit: f.healLimit.Duration, Quiet: f.healQuiet.Duration},
		MetricsAddress: f.metricsAddress, HealthAddress: f.healthAddress, WebhookAddress: f.webhookAddress, Profiling: f.profiling, Log: log,
	})
	if err != nil {
		return err
	}
	log.Info("controller starts", "version", version, "pollInterval", f.pollInterval.String(), "server", cfg.Host, "namespace", k.namespace, "applicationNamespaces", f.appNamespaces)
	if err := c.Run(ctx); err != nil {
		return fmt.Errorf("run controller: %w", err)
	}
	log.Info("controller stopped")
	return nil
}

// configuredNamespaces are the namespaces of Applications that the cluster's
// configuration permits.
func configuredNamespaces(ctx context.Context, k *kube) ([]string, error) {
	c, err := k.client()
	if err != nil {
		return nil, err
	}
	patterns, err := controller.ConfiguredNamespaces(ctx, c, k.namespace)
	if err != nil {
		return nil, fmt.Errorf("%w; give --application-namespaces", err)
	}
	return patterns, nil
}

// configuredInterval is how often the cluster's settings want repositories to be
// asked, or otherwise if they do not say.
func configuredInterval(ctx context.Context, k *kube, log logr.Logger, otherwise duration) (duration, error) {
	c, err := k.client()
	if err != nil {
		return duration{}, err
	}
	var told corev1.ConfigMap
	err = c.Get(ctx, types.NamespacedName{Namespace: k.namespace, Name: settings.Name}, &told)
	if apierrors.IsNotFound(err) {
		return otherwise, nil
	}
	if err != nil {
		return duration{}, fmt.Errorf("read settings: %w; give --poll-interval", err)
	}
	interval, ok, err := settings.PollInterval(told.Data)
	if err != nil {
		log.Info("a setting cannot be read and is left out", "problem", err.Error())
	}
	if !ok {
		return otherwise, nil
	}
	return duration{interval}, nil
}

func installDefinitions(ctx context.Context, k *kube, log logr.Logger) error {
	c, err := k.client()
	if err != nil {
		return err
	}
	if err := installCRDs(ctx, client.Client(c)); err != nil {
		return err
	}
	log.Info("definitions installed")
	return nil
}
