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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/script"
)

// settingsName is the ConfigMap in the control namespace that holds Argo CD's
// settings, and among them the health rules that people write.
const settingsName = "argocd-cm"

// healthRules are the health rules of the settings, compiled once for each
// change of them.
type healthRules struct {
	client client.Reader
	name   types.NamespacedName
	log    logr.Logger

	mu sync.Mutex
	// read is what the rules were compiled from.
	read  map[string]string
	rules atomic.Pointer[script.Rules]
}

func newHealthRules(c client.Reader, opts Options) *healthRules {
	return &healthRules{client: c, name: types.NamespacedName{Namespace: opts.Namespace, Name: settingsName}, log: opts.Log}
}

// refresh compiles the rules anew if they have changed. It costs next to nothing
// when they have not.
func (h *healthRules) refresh(ctx context.Context) error {
	settings := &corev1.ConfigMap{}
	if err := h.client.Get(ctx, h.name, settings); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read health rules from ConfigMap %s: %w", h.name, err)
	}
	data := healthData(settings)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rules.Load() != nil && maps.Equal(data, h.read) {
		return nil
	}
	rules, err := script.NewRules(data)
	if err != nil {
		return err
	}
	for _, problem := range rules.Problems() {
		h.log.Info("a health rule cannot be read and is left out", "configMap", h.name.String(), "problem", problem)
	}
	h.read = data
	h.rules.Store(rules)
	return nil
}

// judge is a health.Custom.
func (h *healthRules) judge(obj *unstructured.Unstructured) (health.Result, bool) {
	return h.rules.Load().Judge(obj)
}

// healthData is the part of the settings that health rules are read from.
func healthData(settings *corev1.ConfigMap) map[string]string {
	data := map[string]string{}
	for key, value := range settings.Data {
		if script.IsHealthKey(key) {
			data[key] = value
		}
	}
	return data
}

// changesHealth lets through what changes the health rules.
func changesHealth() predicate.Predicate {
	rules := func(obj client.Object) map[string]string {
		if settings, ok := obj.(*corev1.ConfigMap); ok && settings.Name == settingsName {
			return healthData(settings)
		}
		return nil
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return len(rules(e.Object)) > 0 },
		DeleteFunc: func(e event.DeleteEvent) bool { return len(rules(e.Object)) > 0 },
		UpdateFunc: func(e event.UpdateEvent) bool { return !maps.Equal(rules(e.ObjectOld), rules(e.ObjectNew)) },
	}
}

// ofHealthRules returns all Applications: which of them have objects that a rule
// is for is seen when they are looked at, and rules rarely change.
func (a *applications) ofHealthRules(ctx context.Context, _ client.Object) []reconcile.Request {
	var list v1alpha1.ApplicationList
	if err := a.client.List(ctx, &list); err != nil {
		a.opts.Log.Error(err, "list Applications for changed health rules")
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: nameOf(&list.Items[i])})
	}
	return requests
}
