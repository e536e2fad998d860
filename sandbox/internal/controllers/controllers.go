// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package controllers runs upstream's kube-controller-manager inside the process, with those controllers an
// application meets in a real cluster. Controllers whose work the simulator does (volume binding, nodes) stay off.
package controllers

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/wavetrain/wavetrain/sandbox/internal/pki"
)

// Options say with what the controllers work.
type Options struct {
	// Kubeconfig is how they reach the API server.
	Kubeconfig string
	// PKI holds the key for service account tokens and the certificate that namespaces publish.
	PKI *pki.PKI
}

// Enabled are the upstream controllers that run.
func Enabled() []string {
	return []string{
		// workloads
		names.DeploymentController,
		names.ReplicaSetController,
		names.StatefulSetController,
		names.DaemonSetController,
		names.JobController,
		names.CronJobController,
		names.HorizontalPodAutoscalerController,
		names.DisruptionController,
		// networking
		names.EndpointSliceController,
		// life and death of objects
		names.NamespaceController,
		names.GarbageCollectorController,
		names.PodGarbageCollectorController,
		names.TTLAfterFinishedController,
		names.PersistentVolumeClaimProtectionController,
		names.PersistentVolumeProtectionController,
		// what every namespace has
		names.ServiceAccountController,
		names.ServiceAccountTokenController,
		names.RootCACertificatePublisherController,
		names.ResourceQuotaController,
		// access
		names.ClusterRoleAggregationController,
	}
}

// Controllers are running controllers.
type Controllers struct {
	done chan struct{}
	err  error
}

// Start runs the controllers until the context ends. The API server must be ready.
func Start(ctx context.Context, opts Options) (*Controllers, error) {
	upstream, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, fmt.Errorf("configure controllers: %w", err)
	}
	known, disabled, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
	flags := pflag.NewFlagSet("kube-controller-manager", pflag.ContinueOnError)
	named := upstream.Flags(known, disabled, aliases)
	for _, set := range named.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(opts.flags()); err != nil {
		return nil, fmt.Errorf("configure controllers: %w", err)
	}
	config, err := upstream.Config(ctx, known, disabled, aliases)
	if err != nil {
		return nil, fmt.Errorf("configure controllers: %w", err)
	}

	c := &Controllers{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.err = app.Run(ctx, config.Complete())
	}()
	return c, nil
}

func (o Options) flags() []string {
	return []string{
		"--kubeconfig=" + o.Kubeconfig,
		"--controllers=" + strings.Join(Enabled(), ","),
		"--service-account-private-key-file=" + o.PKI.ServiceAccountKey,
		"--root-ca-file=" + o.PKI.CA.Cert,
		// Nobody scrapes it, and side by side their ports would collide.
		"--secure-port=0",
		"--leader-elect=false",
		"--controller-shutdown-timeout=2s",
		"--kube-api-qps=2000",
		"--kube-api-burst=4000",
		// A person watches: the autoscaler reacts within seconds instead of minutes, and a new Pod counts at once.
		"--horizontal-pod-autoscaler-sync-period=1s",
		"--horizontal-pod-autoscaler-cpu-initialization-period=0s",
		"--horizontal-pod-autoscaler-initial-readiness-delay=0s",
		"--horizontal-pod-autoscaler-downscale-stabilization=5s",
	}
}

// Done is closed when the controllers have stopped.
func (c *Controllers) Done() <-chan struct{} { return c.done }

// Err says why the controllers stopped; to be called after Done.
func (c *Controllers) Err() error { return c.err }
