// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// finalize deletes what the Application manages, the highest wave first, and
// lets the Application go when nothing is left.
func (s *session) finalize(ctx context.Context) error {
	finalizer, policy, ok := cascade(s.app)
	if !ok {
		return nil
	}
	if run := s.st.run; run != nil && !run.ended() {
		run.Terminate("Operation terminated: the Application is being deleted")
		return nil
	}
	if err := s.remember(ctx); err != nil {
		return err
	}
	dest, err := s.destinations.get(ctx, s.life, s.app.Spec.Destination)
	if err != nil {
		// A cluster that nobody knows any more holds nothing that could be
		// deleted; keeping the Application would keep it for ever.
		return s.letGo(ctx, finalizer)
	}
	s.dest = dest
	left, err := s.deletable(ctx)
	if err == nil && len(left) == 0 {
		return s.letGo(ctx, finalizer)
	}
	if err == nil {
		err = s.deleteWave(ctx, left, policy)
	}
	if err != nil {
		s.problem(v1alpha1.ConditionDeletionError, err)
		s.by(s.now.Add(retryAfterError))
	}
	s.fillConditions()
	return s.patch(ctx)
}

// cascade returns the finalizer that asks for deletion of the managed objects
// and how it reaches the objects below them.
func cascade(app *v1alpha1.Application) (finalizer string, policy metav1.DeletionPropagation, ok bool) {
	for _, f := range app.Finalizers {
		switch f {
		case v1alpha1.FinalizerResources, v1alpha1.FinalizerResourcesForeground:
			return f, metav1.DeletePropagationForeground, true
		case v1alpha1.FinalizerResourcesBackground:
			return f, metav1.DeletePropagationBackground, true
		}
	}
	return "", "", false
}

// deletable returns the live objects that go with the Application: not
// CustomResourceDefinitions, which other people's objects may need, and not what
// an annotation protects.
func (s *session) deletable(ctx context.Context) ([]*unstructured.Unstructured, error) {
	var kinds []schema.GroupKind
	add := func(gk schema.GroupKind) {
		if _, served := s.dest.Scope(gk); served && !slices.Contains(kinds, gk) {
			kinds = append(kinds, gk)
		}
	}
	for _, r := range s.app.Status.Resources {
		add(schema.GroupKind{Group: r.Group, Kind: r.Kind})
	}
	owned := s.st.memory.Owned()
	for _, e := range owned {
		add(e.GroupKind())
	}
	if err := s.dest.Watch(ctx, kinds...); err != nil {
		return nil, fmt.Errorf("watch %s: %w", s.dest.Server, err)
	}
	all := map[types.UID]*unstructured.Unstructured{}
	for _, obj := range s.dest.Tracked(s.instance) {
		all[obj.GetUID()] = obj
	}
	for _, e := range owned {
		if obj, ok := s.dest.Get(e.Key); ok && obj.GetUID() == e.UID {
			all[obj.GetUID()] = obj
		}
	}
	var list []*unstructured.Unstructured
	var keys []manifest.Key
	for _, obj := range all {
		if !s.stays(obj) {
			list = append(list, obj)
			keys = append(keys, manifest.KeyOf(obj))
		}
	}
	s.watchlist.set(nameOf(s.app), s.instance, s.dest.Server, keys)
	return list, nil
}

// stays tells whether a managed object outlives the Application.
func (s *session) stays(obj *unstructured.Unstructured) bool {
	_, isDefinition := manifest.DefinesKind(obj)
	options := manifest.SyncOptions(obj)
	return isDefinition || obj.GetUID() == s.app.UID ||
		options.Has("Delete=false") || obj.GetAnnotations()[manifest.AnnotationHelmResourcePolicy] == "keep" ||
		slices.Contains(s.app.Spec.SyncOptionList(), "Delete=false") && !options.Has("Delete=true")
}

// deleteWave deletes the objects of the highest wave that is left.
func (s *session) deleteWave(ctx context.Context, left []*unstructured.Unstructured, policy metav1.DeletionPropagation) error {
	highest := manifest.Wave(slices.MaxFunc(left, func(a, b *unstructured.Unstructured) int { return manifest.Wave(a) - manifest.Wave(b) }))
	var waiting []string
	for _, obj := range left {
		if manifest.Wave(obj) != highest {
			continue
		}
		key := manifest.KeyOf(obj)
		waiting = append(waiting, key.Short())
		if slices.Contains(obj.GetFinalizers(), manifest.HookFinalizer) {
			if err := s.dest.RemoveFinalizer(ctx, key, manifest.HookFinalizer); err != nil {
				return fmt.Errorf("let go of %s: %w", key.Short(), err)
			}
		}
		if obj.GetDeletionTimestamp() != nil {
			continue
		}
		if err := s.dest.Delete(ctx, key, cluster.DeleteOptions{UID: obj.GetUID(), Propagation: policy}); err != nil {
			return fmt.Errorf("delete %s: %w", key.Short(), err)
		}
	}
	slices.Sort(waiting)
	s.opts.Log.V(1).Info("waiting for deletion", "application", nameOf(s.app).String(), "wave", highest, "objects", strings.Join(waiting, ", "))
	return nil
}

// letGo takes the finalizer off.
func (s *session) letGo(ctx context.Context, finalizer string) error {
	before := s.app.DeepCopy()
	s.app.Finalizers = slices.DeleteFunc(s.app.Finalizers, func(f string) bool { return f == finalizer })
	return client.IgnoreNotFound(s.client.Patch(ctx, s.app, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(manifest.ControllerFieldManager)))
}
