// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/wavetrain/wavetrain/sandbox/internal/sim/thirdparty"
)

// Options say how large the simulated cluster is and what directs it.
type Options struct {
	// Nodes is the number of simulated nodes. Defaults to 3.
	Nodes int
	// NodeCapacity is what each node offers. Defaults to 32 CPUs, 128 Gi of memory and 250 Pods.
	NodeCapacity corev1.ResourceList
	// RulesFile is a file of rules; it is read again when it changes. Defaults to none.
	RulesFile string
	// RulesConfigMap holds rules as well, read again when it changes; they come before those of the
	// file. Defaults to none.
	RulesConfigMap types.NamespacedName
	// RuleSets names the shipped rule sets that are active. Nil means all of RuleSetNames.
	RuleSets []string
	// InstallCRDs installs the CustomResourceDefinitions of the rule sets.
	InstallCRDs bool
	// PollInterval is how often RulesFile is looked at. Defaults to 500 ms.
	PollInterval time.Duration
	// Log receives what a person directing the simulation must know, such as rules that do not parse.
	// Defaults to discarding.
	Log logr.Logger
}

// Simulator is a running simulation.
type Simulator struct {
	engine *engine
	done   chan struct{}
}

// RuleSetNames returns the names of the shipped rule sets.
func RuleSetNames() []string { return thirdparty.Sets() }

// Start installs what the simulation brings, starts it, and returns once nodes are Ready and the rules
// are read; it runs until ctx ends.
func Start(ctx context.Context, cfg *rest.Config, opts Options) (*Simulator, error) {
	e, err := newEngine(ctx, cfg, opts.withDefaults())
	if err != nil {
		return nil, err
	}
	s := &Simulator{engine: e, done: make(chan struct{})}
	flush := e.startEvents()
	var wg sync.WaitGroup
	stop := func() {
		e.queue.ShutDown()
		wg.Wait()
		e.watches.wait()
		e.cache.factory.Shutdown()
		flush()
		close(s.done)
	}
	if err := e.prepare(ctx); err != nil {
		// Informers run until the caller ends ctx, which is for the caller to do after an error.
		e.queue.ShutDown()
		if e.logs != nil {
			_ = e.logs.listener.Close() // The error that led here is the one to tell.
		}
		flush()
		return nil, err
	}
	e.work(ctx, &wg)
	wg.Go(func() { e.agenda.run(ctx, e.queue.Add) })
	wg.Go(func() { e.renewLeases(ctx) })
	wg.Go(func() {
		if err := e.logs.serve(ctx); err != nil {
			e.log.Error(err, "logs cannot be read any more")
		}
	})
	if e.rules.file != "" {
		wg.Go(func() { e.watchFile(ctx) })
	}
	go func() {
		<-ctx.Done()
		stop()
	}()
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Nodes == 0 {
		o.Nodes = defaultSize
	}
	if o.PollInterval == 0 {
		o.PollInterval = pollInterval
	}
	if o.Log.GetSink() == nil {
		o.Log = logr.Discard()
	}
	capacity := defaultCapacity()
	maps.Copy(capacity, o.NodeCapacity)
	o.NodeCapacity = capacity
	return o
}

// prepare brings the cluster to where Pods can run.
func (e *engine) prepare(ctx context.Context) error {
	if err := e.kinds.discover(e.client.Discovery()); err != nil {
		return err
	}
	if err := e.startLogs(); err != nil {
		return err
	}
	if err := e.startRequests(ctx); err != nil {
		return err
	}
	if err := e.startNodes(ctx); err != nil {
		return err
	}
	if err := e.startClasses(ctx); err != nil {
		return err
	}
	if e.opts.InstallCRDs {
		if err := e.installCRDs(ctx); err != nil {
			return err
		}
	}
	if err := e.cache.start(ctx, e); err != nil {
		return err
	}
	if !e.watches.startCRDs(ctx) {
		return fmt.Errorf("follow the CustomResourceDefinitions: %w", context.Cause(ctx))
	}
	e.watches.adjust()
	return e.awaitRequests(ctx)
}

// installCRDs installs the CRDs of the rule sets that are not there yet.
func (e *engine) installCRDs(ctx context.Context) error {
	list, err := thirdparty.CRDs(e.opts.RuleSets)
	if err != nil {
		return err
	}
	for _, crd := range list {
		_, err := e.dynamic.Resource(crds()).Create(ctx, crd, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("install CRD %s: %w", crd.GetName(), err)
		}
	}
	return nil
}

// Wait blocks until everything that Start began has ended, which follows the end of its context.
func (s *Simulator) Wait() { <-s.done }

// ReloadRules reads RulesFile again now; when it returns without an error, its rules are in force.
func (s *Simulator) ReloadRules() error {
	if s.engine.rules.file == "" {
		return nil
	}
	_, err := s.engine.reloadFile()
	return err
}

// PodUsage is what the containers of one Pod use at the moment.
type PodUsage struct {
	Namespace, Name string
	Labels          map[string]string
	// Containers maps a container's name to its usage (cpu and memory).
	Containers map[string]corev1.ResourceList
}

// NodeUsage is what one node uses at the moment.
type NodeUsage struct {
	Name   string
	Labels map[string]string
	Usage  corev1.ResourceList
}

// PodUsage returns the usage of the running Pods that selector selects, sorted by namespace and name. An
// empty namespace means all.
func (s *Simulator) PodUsage(namespace string, selector labels.Selector) []PodUsage {
	if namespace != "" {
		return s.engine.podUsage(namespace, selector)
	}
	var out []PodUsage
	for _, namespace := range s.engine.podNamespaces() {
		out = append(out, s.engine.podUsage(namespace, selector)...)
	}
	return out
}

// NodeUsage returns the usage of the nodes that selector selects, sorted by name.
func (s *Simulator) NodeUsage(selector labels.Selector) []NodeUsage {
	return s.engine.nodeUsage(selector)
}
