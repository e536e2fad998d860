// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	releasev1alpha1 "github.com/wavetrain/wavetrain/api/release/v1alpha1"
	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/project"
	"github.com/wavetrain/wavetrain/internal/rollout"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/source"
	"github.com/wavetrain/wavetrain/internal/webhook"
)

// DefaultNamespace is the control namespace unless told otherwise, as in Argo CD.
const DefaultNamespace = "argocd"

// Options of a controller.
type Options struct {
	// Config connects to the cluster that the Applications live on. Required.
	Config *rest.Config
	// Namespace is the control namespace. Defaults to DefaultNamespace.
	Namespace string
	// ApplicationNamespaces are patterns over namespaces other than the control
	// namespace whose Applications are cared for, too, as far as their projects
	// permit: globs, or regular expressions between slashes. Defaults to none.
	ApplicationNamespaces []string
	// Sources reads repositories. Required.
	Sources *source.Store
	// Rendering says where sources are rendered and kept. Defaults to this process
	// and its memory.
	Rendering pipeline.Rendering
	// PollInterval is how often revisions are resolved anew. Defaults to two
	// minutes; up to half of it is added at random so that applications do not
	// ask all at once.
	PollInterval time.Duration
	// Workers is how many Applications are reconciled at once. Defaults to 10.
	Workers int
	// ClusterWrites is how many calls the operations on one cluster make at once.
	// Defaults to rollout.DefaultWrites.
	ClusterWrites int
	// LeaderElection lets only one of several controllers act.
	LeaderElection bool
	// MetricsAddress and HealthAddress are where to serve; empty serves nothing.
	MetricsAddress, HealthAddress string
	// WebhookAddress is where Git servers announce pushes, below WebhookPath; empty
	// serves nothing.
	WebhookAddress string
	// Profiling serves profiles of Go's runtime beside the metrics.
	Profiling bool
	// Limits of waiting; the zero value has the documented defaults.
	Limits machine.Limits
	// Heal says when what drifts again and again is healed again; zero values have the
	// documented defaults.
	Heal HealBackoff
	// Pace is how soon and how often an operation that waits tells for what, on its
	// status, too; zero values have the defaults.
	Pace rollout.Pace
	// Events receives the progress of rollouts; may be nil.
	Events event.Sink
	// Log receives what concerns no single Application. Defaults to none.
	Log logr.Logger
	// Clock defaults to the real one.
	Clock clock.WithTicker
}

func (o Options) withDefaults() Options {
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	if o.PollInterval == 0 {
		o.PollInterval = 2 * time.Minute
	}
	if o.Workers == 0 {
		o.Workers = 10
	}
	o.Heal, o.Pace = o.Heal.withDefaults(), o.Pace.WithDefaults()
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Events == nil {
		o.Events = func(event.Event) {}
	}
	if o.Log.GetSink() == nil {
		o.Log = logr.Discard()
	}
	// Back-pressure is by concurrency; the client's own limit of five requests
	// a second would only add waiting.
	o.Config = rest.CopyConfig(o.Config)
	o.Config.QPS = -1
	return o
}

func (o Options) caredFor() (caredFor, error) {
	others, err := project.ReadNamespaces(o.ApplicationNamespaces)
	if err != nil {
		return caredFor{}, fmt.Errorf("namespaces of Applications: %w", err)
	}
	return caredFor{control: o.Namespace, others: others}, nil
}

// onlyConfiguration empties the ConfigMaps of the control namespace that are none
// of Argo CD's configuration: nobody here reads them.
func onlyConfiguration(obj any) (any, error) {
	if m, ok := obj.(*corev1.ConfigMap); ok {
		m.ManagedFields = nil
		if !strings.HasPrefix(m.Name, "argocd-") {
			m.Data, m.BinaryData = nil, nil
		}
	}
	return obj, nil
}

// Controller reconciles Applications.
type Controller struct {
	opts    Options
	manager manager.Manager
	// ready is set once the caches are complete.
	ready atomic.Bool
	apps  *applications
	// webhooks bounds the memory of their requests.
	webhooks *semaphore.Weighted
}

// New makes a controller; Run starts it.
func New(opts Options) (*Controller, error) {
	opts = opts.withDefaults()
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	onlyArgoSecrets, err := labels.NewRequirement(SecretTypeLabel, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	// Parts of controller-runtime log to a global logger and complain when there
	// is none.
	ctrl.SetLogger(opts.Log)
	cares, err := opts.caredFor()
	if err != nil {
		return nil, err
	}
	codec, err := cluster.NewCodec()
	if err != nil {
		return nil, err
	}
	small := packer{codec}
	cached := cache.Options{
		// A read that has a watch opened waits for it, and with it a worker.
		ReaderFailOnMissingInformer: true,
		DefaultNamespaces:           map[string]cache.Config{opts.Namespace: {}},
		ByObject: map[client.Object]cache.ByObject{
			// Other people's Secrets are none of our business.
			&corev1.Secret{}: {Label: labels.NewSelector().Add(*onlyArgoSecrets)},
			// Of ConfigMaps only what is read.
			&corev1.ConfigMap{}: {Transform: onlyConfiguration},
		},
	}
	cares.widen(&cached)
	small.shrink(&cached)
	skipNameValidation := true
	mgr, err := ctrl.NewManager(opts.Config, manager.Options{
		Scheme: scheme,
		Logger: opts.Log,
		Cache:  cached,
		// Served by ourselves.
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress:        "0",
		LeaderElection:                opts.LeaderElection,
		LeaderElectionID:              "wavetrain",
		LeaderElectionNamespace:       opts.Namespace,
		LeaderElectionReleaseOnCancel: true,
		Controller:                    ctrlconfig.Controller{SkipNameValidation: &skipNameValidation},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", opts.Config.Host, err)
	}
	apps := newApplications(opts, cares, codec, unpacking{mgr.GetClient(), small})
	if err := apps.setUp(mgr); err != nil {
		return nil, err
	}
	return &Controller{opts: opts, manager: mgr, apps: apps, webhooks: webhook.NewMemory()}, nil
}

// Run reconciles until ctx ends. Rollouts in progress are abandoned in a state
// from which the next run resumes them.
func (c *Controller) Run(ctx context.Context) error {
	release, err := c.serve(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := c.watch(ctx); err != nil {
		return err
	}
	// Before the first look at an Application, which would not find its project.
	if err := c.bootstrap(ctx); err != nil {
		return err
	}
	defer c.apps.abandon()
	if err := c.manager.Add(replicaRunnable(c.complete)); err != nil {
		return err
	}
	if err := c.manager.Start(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Refresh looks at once whether the repository has something new for the
// Applications that use it: a webhook said so, or somebody committed.
func (c *Controller) Refresh(ctx context.Context, repo string) error {
	return c.apps.refresh(ctx, repo)
}

// bootstrap makes what every installation has: the control namespace and the
// project "default".
func (c *Controller) bootstrap(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.opts.Namespace}}
	if err := c.createMissing(ctx, namespace); err != nil {
		return err
	}
	project := &v1alpha1.AppProject{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.opts.Namespace, Name: v1alpha1.DefaultProject},
		Spec: v1alpha1.AppProjectSpec{
			SourceRepos:              []string{"*"},
			Destinations:             []v1alpha1.ApplicationDestination{{Server: "*", Namespace: "*"}},
			ClusterResourceWhitelist: []v1alpha1.ClusterResourceRestriction{{Group: "*", Kind: "*"}},
		},
	}
	return c.createMissing(ctx, project)
}

// createMissing creates an object unless it is there already, or we may not
// create it and it is there.
func (c *Controller) createMissing(ctx context.Context, obj client.Object) error {
	err := c.manager.GetClient().Create(ctx, obj)
	if apierrors.IsForbidden(err) && c.manager.GetAPIReader().Get(ctx, client.ObjectKeyFromObject(obj), obj) == nil {
		return nil
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %T %s: %w", obj, client.ObjectKeyFromObject(obj), err)
	}
	return nil
}

// watch has everything known that is read, before the first Application is looked
// at and on replicas that only stand by.
func (c *Controller) watch(ctx context.Context) error {
	for _, read := range []client.Object{
		&v1alpha1.Application{}, &v1alpha1.AppProject{}, &releasev1alpha1.ReleaseRecord{}, &corev1.ConfigMap{}, &corev1.Secret{},
	} {
		if _, err := c.manager.GetCache().GetInformer(ctx, read); err != nil {
			return fmt.Errorf("watch %T: %w", read, err)
		}
	}
	return nil
}

// complete is run when the caches are complete.
func (c *Controller) complete(context.Context) error {
	c.ready.Store(true)
	return nil
}

// replicaRunnable runs once the caches are complete, on every replica.
type replicaRunnable func(context.Context) error

// Start implements manager.Runnable.
func (r replicaRunnable) Start(ctx context.Context) error { return r(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (r replicaRunnable) NeedLeaderElection() bool { return false }

// leaderRunnable runs once, on the leader.
type leaderRunnable func(context.Context) error

// Start implements manager.Runnable.
func (r leaderRunnable) Start(ctx context.Context) error { return r(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (r leaderRunnable) NeedLeaderElection() bool { return true }

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme, releasev1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	return scheme, nil
}
