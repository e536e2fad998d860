// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/api/crds"
	releasev1alpha1 "github.com/wavetrain/wavetrain/api/release/v1alpha1"
	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
	"github.com/wavetrain/wavetrain/internal/source"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

// stage is what all scenarios share: a control plane, a controller, and the
// record of everything that happened since both were started.
type stage struct {
	t       *testing.T
	env     *sandboxtest.Env
	client  client.WithWatch
	dynamic dynamic.Interface
	mapper  meta.ResettableRESTMapper
	history *history
	// control and controller are those of the scenarios that have none of their
	// own.
	control    string
	controller *runningController

	mu sync.Mutex
	// rules by the namespace of the scenario that wants them.
	rules map[string][]any
	// outcomes says which scenarios passed, of those that were run.
	outcomes map[string]bool
}

func newStage(t *testing.T) *stage {
	t.Helper()
	env := sandboxtest.Start(t, sandboxtest.Options{RuleSets: []string{"external-secrets"}})
	// Argo CD's finalizers have names that the API server warns of.
	env.Config.WarningHandler = rest.NoWarnings{}
	s := &stage{t: t, env: env, rules: map[string][]any{}, outcomes: map[string]bool{}, history: newHistory()}
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1alpha1.AddToScheme, releasev1alpha1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(kinds); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if s.client, err = client.NewWithWatch(env.Config, client.Options{Scheme: kinds}); err != nil {
		t.Fatal(err)
	}
	if s.dynamic, err = dynamic.NewForConfig(env.Config); err != nil {
		t.Fatal(err)
	}
	asker, err := discovery.NewDiscoveryClientForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	s.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(asker))
	s.installDefinitions()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(stop)
	if _, err := timeline.RecordPods(ctx, env.Config, s.history.note); err != nil {
		t.Fatal(err)
	}
	if err := s.history.followApplications(ctx, env.Config, kinds); err != nil {
		t.Fatal(err)
	}
	s.control = env.Namespace(t)
	s.controller = startController(t, env, &runningController{namespace: s.control})
	return s
}

func (s *stage) installDefinitions() {
	s.t.Helper()
	all, err := crds.All()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, crd := range all {
		if err := s.client.Create(s.t.Context(), crd); err != nil && !apierrors.IsAlreadyExists(err) {
			s.t.Fatal(err)
		}
	}
	err = wait.PollUntilContextTimeout(s.t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		return s.client.List(ctx, &v1alpha1.ApplicationList{}) == nil, nil
	})
	if err != nil {
		s.t.Fatalf("Applications are not served: %v", err)
	}
}

// setRules puts a scenario's rules in force, in the place of those it had.
func (s *stage) setRules(ctx context.Context, namespace string, rules []any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(rules) == 0 && len(s.rules[namespace]) == 0 {
		return nil
	}
	s.rules[namespace] = rules
	var merged []any
	for _, name := range slices.Sorted(maps.Keys(s.rules)) {
		merged = append(merged, s.rules[name]...)
	}
	data, err := yaml.Marshal(map[string]any{"rules": merged})
	if err != nil {
		return err
	}
	return s.env.ReplaceRules(ctx, data)
}

// ended notes how a scenario ended.
func (s *stage) ended(name string, passed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcomes[name] = passed
}

// limits are short, so that scenarios about waiting do not wait long, and long
// enough for a busy machine.
func limits() machine.Limits {
	return machine.Limits{
		FlapGrace: 30 * time.Second, NoProgress: 10 * time.Minute, Stuck: 30 * time.Second,
		HookGone: 10 * time.Second, IngressAddress: 15 * time.Second,
	}
}

// healing is short, and long enough, for the same reasons.
func healing() controller.HealBackoff {
	return controller.HealBackoff{Base: 10 * time.Second, Limit: 20 * time.Second, Quiet: 10 * time.Minute}
}

// runningController is a controller that was started and can be stopped.
type runningController struct {
	*controller.Controller
	namespace string
	// appNamespaces and plugins, a directory, are what it was started with.
	appNamespaces []string
	plugins       string
	stop          func()
}

// startController runs a controller for a control namespace, and maybe for
// Applications of others and with plugins, until the test ends or it is stopped.
func startController(t testing.TB, env *sandboxtest.Env, what *runningController) *runningController {
	t.Helper()
	rendering, err := withPlugins(what.plugins)
	if err != nil {
		t.Fatal(err)
	}
	store, err := source.NewStore(source.Options{Dir: t.TempDir(), Env: gittest.Env(), RefsTTL: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	c, err := controller.New(controller.Options{
		Config: env.Config, Namespace: what.namespace, ApplicationNamespaces: what.appNamespaces, Sources: store, Limits: limits(), Heal: healing(), Rendering: rendering,
		// Repositories announce their commits.
		PollInterval: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("controller of %s: %v", what.namespace, err)
		}
	})
	t.Cleanup(stop)
	return &runningController{Controller: c, namespace: what.namespace, appNamespaces: what.appNamespaces, plugins: what.plugins, stop: stop}
}

// announce tells the controller that the repository has a new commit, as a
// webhook does.
func (c *runningController) announce(ctx context.Context, repository string) error {
	if err := c.Refresh(ctx, repository); err != nil {
		return fmt.Errorf("announce a commit: %w", err)
	}
	return nil
}
