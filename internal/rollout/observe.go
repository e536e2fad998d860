// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// observer answers the machine's questions from the live cache.
func (r *Run) observer(ctx context.Context) machine.Observer {
	around := r.surroundings()
	return func(key manifest.Key) machine.Observation {
		state := r.stateOf(key)
		o, known := r.views.recall(key, state)
		if !known {
			u := r.look(ctx, key)
			if r.trustsAnyGeneration(key) {
				u = machine.OfThisGeneration(u)
			}
			o = machine.Observe(u, r.pods(u), around)
			r.views.keep(key, state, o)
		}
		// A controller's own verdict says more than what can be seen around it.
		if o.Exists && o.Health.Known && o.Health.Status == health.Progressing {
			o.Blocked = r.hints.of(key)
		}
		return o
	}
}

// trustsAnyGeneration reports whether the health of an object counts whatever
// generation it is about.
func (r *Run) trustsAnyGeneration(key manifest.Key) bool {
	if r.limits.AnyGeneration {
		return true
	}
	return slices.ContainsFunc(r.index.byKey[key], r.limits.TrustsAnyGeneration)
}

// look returns the live object. That an object which this run has written does
// not exist is believed only when the API server says so itself, because it ends
// the attempt.
func (r *Run) look(ctx context.Context, key manifest.Key) *unstructured.Unstructured {
	if u, ok := r.cluster.Get(key); ok {
		return u
	}
	step, version := r.written(key)
	if step == nil {
		return nil
	}
	u, err := r.cluster.Fetch(ctx, key, version)
	switch {
	case err == nil:
		return u
	case apierrors.IsNotFound(err):
		return nil
	}
	// The API server cannot be asked: as long as it is not known to be gone, the
	// object is taken to be as it was written.
	return asWritten(key, version, step)
}

// written returns what was recorded of an object that this attempt wrote and
// still waits for.
func (r *Run) written(key manifest.Key) (*machine.StepRecord, string) {
	for _, step := range r.index.byKey[key] {
		if s := r.record.Steps[step.ID]; s != nil && s.State == machine.Applied {
			return s, step.Version
		}
	}
	return nil, ""
}

// asWritten is an object of which nothing but our own write is known.
func asWritten(key manifest.Key, version string, s *machine.StepRecord) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	gvk := key.GroupKind().WithVersion(version)
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(key.Namespace)
	u.SetName(key.Name)
	u.SetUID(s.UID)
	u.SetResourceVersion("0")
	return u
}

// pods returns the Pods below an object, the object itself if it is one, by name.
func (r *Run) pods(u *unstructured.Unstructured) []*unstructured.Unstructured {
	if u == nil {
		return nil
	}
	if isPod(u) {
		return []*unstructured.Unstructured{u}
	}
	var pods []*unstructured.Unstructured
	descend(r.cluster, u.GetUID(), func(child cluster.Head) {
		if child.Key.GroupKind() != (schema.GroupKind{Kind: "Pod"}) {
			return
		}
		if pod, ok := r.cluster.Get(child.Key); ok {
			pods = append(pods, pod)
		}
	})
	slices.SortFunc(pods, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return pods
}

func isPod(u *unstructured.Unstructured) bool {
	return u.GetKind() == "Pod" && u.GetAPIVersion() == "v1"
}

// surroundings answers what judging an object asks about.
func (r *Run) surroundings() health.Context { return Surroundings(r.cluster, r.driver.opts.Custom) }

// Surroundings answers questions about storage and ingress classes from the live
// cache, and knows people's own rules. An object that names no class was not
// defaulted by the API server: nothing is concluded from that.
func Surroundings(live interface {
	Get(key manifest.Key) (*unstructured.Unstructured, bool)
}, custom health.Custom,
) health.Context {
	get := func(gk schema.GroupKind) func(string) *unstructured.Unstructured {
		return func(name string) *unstructured.Unstructured {
			if name == "" {
				return &unstructured.Unstructured{Object: map[string]any{}}
			}
			u, ok := live.Get(manifest.Key{Group: gk.Group, Kind: gk.Kind, Name: name})
			if !ok {
				return nil
			}
			return u
		}
	}
	return health.Context{StorageClass: get(health.StorageClasses()), IngressClass: get(health.IngressClasses()), Custom: custom}
}
