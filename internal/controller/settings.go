// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/script"
	"github.com/wavetrain/wavetrain/internal/settings"
)

// installation is what the installation is told in its ConfigMap, read once for
// each change of it.
type installation struct {
	client client.Reader
	name   types.NamespacedName
	log    logr.Logger

	mu      sync.Mutex
	current atomic.Pointer[compiled]
}

// compiled are settings, ready to be used.
type compiled struct {
	*settings.Settings
	// read is what they were made from.
	read   map[string]string
	health *script.Rules
}

func newInstallation(c client.Reader, opts Options) *installation {
	return &installation{client: c, name: types.NamespacedName{Namespace: opts.Namespace, Name: settings.Name}, log: opts.Log}
}

// refresh returns the settings as they are now. It costs next to nothing when they
// have not changed.
func (i *installation) refresh(ctx context.Context) (*compiled, error) {
	written := &corev1.ConfigMap{}
	if err := i.client.Get(ctx, i.name, written); err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read settings from ConfigMap %s: %w", i.name, err)
	}
	data := settings.Relevant(written.Data)
	i.mu.Lock()
	defer i.mu.Unlock()
	if known := i.current.Load(); known != nil && maps.Equal(data, known.read) {
		return known, nil
	}
	next := &compiled{Settings: settings.Parse(data), read: data}
	rules, err := script.NewRules(next.Health)
	if err != nil {
		return nil, err
	}
	next.health = rules
	for _, problem := range next.Problems {
		i.log.Info("a setting cannot be read and is left out", "configMap", i.name.String(), "problem", problem.String())
	}
	for _, problem := range rules.Problems() {
		i.log.Info("a setting cannot be read and is left out", "configMap", i.name.String(), "problem", problem)
	}
	i.current.Store(next)
	return next, nil
}

// judge is a health.Custom. A rollout asks it for as long as it runs: it always
// judges by the rules of now.
func (i *installation) judge(obj *unstructured.Unstructured) (health.Result, bool) {
	return i.current.Load().health.Judge(obj)
}

// changesSettings lets through what changes a setting that is read.
func changesSettings() predicate.Predicate {
	read := func(obj client.Object) map[string]string {
		if written, ok := obj.(*corev1.ConfigMap); ok && written.Name == settings.Name {
			return settings.Relevant(written.Data)
		}
		return nil
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return len(read(e.Object)) > 0 },
		DeleteFunc: func(e event.DeleteEvent) bool { return len(read(e.Object)) > 0 },
		UpdateFunc: func(e event.UpdateEvent) bool { return !maps.Equal(read(e.ObjectOld), read(e.ObjectNew)) },
	}
}

// ofSettings returns all Applications: which of them a setting is for is seen when
// they are looked at, and settings rarely change.
func (a *applications) ofSettings(ctx context.Context, _ client.Object) []reconcile.Request {
	list, err := a.all(ctx)
	if err != nil {
		a.opts.Log.Error(err, "list Applications for changed settings")
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list))
	for i := range list {
		requests = append(requests, reconcile.Request{NamespacedName: nameOf(&list[i])})
	}
	return requests
}

// excludes tells whether the installation leaves a kind alone on the destination.
func (s *session) excludes(gk schema.GroupKind) bool {
	return s.settings.Filter.Excludes(s.dest.Server, gk)
}

// excluded says which object of a running operation's plan the settings have come
// to exclude, so that the operation would wait for it for ever; nothing if there
// is none.
func (s *session) excluded(p *plan.Plan) string {
	for _, g := range p.Groups {
		for _, step := range g.Steps {
			if s.excludes(step.Key.GroupKind()) {
				return "the settings now exclude what is rolled out: " + step.Key.Short()
			}
		}
	}
	return ""
}

// compareRules are the installation's rules for comparisons, with what the
// Application asks for. That it wants comparisons made by the API server, or not,
// changes nothing: they are exact either way.
func (s *session) compareRules() diff.Rules {
	rules := s.settings.Compare
	rules.Mutations = manifest.ParseOptions(s.app.Annotations[manifest.AnnotationCompareOptions]).Has("IncludeMutationWebhook=true")
	return rules
}
