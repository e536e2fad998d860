// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// maxNamed bounds how many objects a message about a deletion names.
const maxNamed = 5

// deleteManaged deletes what the Application manages, the highest wave first and
// each wave when the one before is gone; it reports whether nothing is left.
func (s *session) deleteManaged(ctx context.Context, policy metav1.DeletionPropagation) (done bool, err error) {
	left, kept, err := s.deletable(ctx)
	if err != nil || len(left) == 0 {
		return err == nil, err
	}
	if question := confirmation(s.app, left); question != "" {
		s.deleting(question + staying(kept))
		return false, nil
	}
	wave := highestWave(left)
	s.deleting(fmt.Sprintf("waiting for the deletion of %d objects, wave %d first: %s%s", len(left), manifest.Wave(wave[0]), remaining(wave), staying(kept)))
	return false, s.deleteWave(ctx, wave, policy)
}

// deletable returns the live objects that go with the Application: not
// CustomResourceDefinitions, which other people's objects may need, and not what
// an annotation or the project protects. Those are named, and so is the namespace that
// the Application has made for itself.
func (s *session) deletable(ctx context.Context) (list []*unstructured.Unstructured, kept []string, err error) {
	var kinds []schema.GroupKind
	add := func(gk schema.GroupKind) {
		if _, served := s.dest.Scope(gk); served && !slices.Contains(kinds, gk) {
			kinds = append(kinds, gk)
		}
	}
	add(schema.GroupKind{Kind: "Namespace"})
	for _, r := range s.app.Status.Resources {
		add(schema.GroupKind{Group: r.Group, Kind: r.Kind})
	}
	owned := s.st.memory.Owned()
	for _, e := range owned {
		add(e.GroupKind())
	}
	if err := s.dest.Watch(ctx, kinds...); err != nil {
		return nil, nil, fmt.Errorf("watch %s: %w", s.dest.Server, err)
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
	// What goes with this Application is from now on for others to take.
	s.wakeups.add(s.renderings.remove(nameOf(s.app))...)
	var keys []manifest.Key
	for _, obj := range all {
		key := manifest.KeyOf(obj)
		switch {
		case stays(s.app, obj) || s.forbids(key) != "":
			kept = append(kept, key.Short())
		case s.renderedElsewhere(key):
			if err := s.handOver(ctx, obj); err != nil {
				return nil, nil, err
			}
			kept = append(kept, key.Short())
		default:
			list, keys = append(list, obj), append(keys, key)
		}
	}
	kept = append(kept, s.ownNamespace(all)...)
	slices.Sort(kept)
	slices.SortFunc(list, func(a, b *unstructured.Unstructured) int { return manifest.KeyOf(a).Compare(manifest.KeyOf(b)) })
	s.watchlist.set(nameOf(s.app), s.instance, s.dest.Server, keys)
	return list, kept, nil
}

// ownNamespace names the namespace that the Application makes for itself, unless it
// manages it as well: it belongs to nobody and is never deleted with it.
func (s *session) ownNamespace(managed map[types.UID]*unstructured.Unstructured) []string {
	key := manifest.Key{Kind: "Namespace", Name: s.app.Spec.Destination.Namespace}
	live, exists := s.dest.Get(key)
	if !exists || managed[live.GetUID()] != nil || !manifest.ParseOptions(s.app.Spec.SyncOptionList()...).Has("CreateNamespace=true") {
		return nil
	}
	return []string{key.Short()}
}

// staying says what outlives the Application.
func staying(kept []string) string {
	switch len(kept) {
	case 0:
		return ""
	case 1:
		return "; " + kept[0] + " stays"
	}
	return "; " + bounded(kept) + " stay"
}

// stays tells whether a managed object outlives the Application. What the object
// says about its deletion wins over what the Application says.
func stays(app *v1alpha1.Application, obj *unstructured.Unstructured) bool {
	if _, isDefinition := manifest.DefinesKind(obj); isDefinition || obj.GetUID() == app.UID {
		return true
	}
	if obj.GetAnnotations()[manifest.AnnotationHelmResourcePolicy] == "keep" {
		return true
	}
	return deleteOption(app, obj) == "false"
}

// deleteOption is the value of the option Delete that is in force for an object.
func deleteOption(app *v1alpha1.Application, obj *unstructured.Unstructured) string {
	if own, ok := manifest.SyncOptions(obj).Value("Delete"); ok {
		return own
	}
	value, _ := manifest.ParseOptions(app.Spec.SyncOptionList()...).Value("Delete")
	return value
}

// confirmation returns what to tell when somebody must agree before anything of
// the Application is deleted and has not done so since its deletion was asked
// for; nothing otherwise.
func confirmation(app *v1alpha1.Application, left []*unstructured.Unstructured) string {
	appConfirms := manifest.ParseOptions(app.Spec.SyncOptionList()...).Has("Prune=confirm")
	var names []string
	for _, obj := range left {
		if appConfirms || deleteOption(app, obj) == "confirm" || manifest.SyncOptions(obj).Has("Prune=confirm") {
			names = append(names, manifest.KeyOf(obj).Short())
		}
	}
	if len(names) == 0 {
		return ""
	}
	asked := app.DeletionTimestamp.Time
	if approvedSince(app, asked) {
		return ""
	}
	return fmt.Sprintf("nothing is deleted before somebody confirms the deletion of %s: run `wavetrain app confirm-deletion %s`, or set the annotation %s to a time not before %s",
		bounded(names), nameOf(app), v1alpha1.AnnotationDeletionApproved, asked.UTC().Format(time.RFC3339))
}

// approvedSince tells whether somebody has confirmed deletions at that time or
// later.
func approvedSince(app *v1alpha1.Application, asked time.Time) bool {
	approved, err := time.Parse(time.RFC3339, app.Annotations[v1alpha1.AnnotationDeletionApproved])
	return err == nil && !approved.Before(asked)
}

// highestWave returns the objects of the highest wave.
func highestWave(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	highest := manifest.Wave(slices.MaxFunc(objects, func(a, b *unstructured.Unstructured) int { return manifest.Wave(a) - manifest.Wave(b) }))
	var wave []*unstructured.Unstructured
	for _, obj := range objects {
		if manifest.Wave(obj) == highest {
			wave = append(wave, obj)
		}
	}
	return wave
}

// deleteWave deletes objects that belong together.
func (s *session) deleteWave(ctx context.Context, wave []*unstructured.Unstructured, policy metav1.DeletionPropagation) error {
	if _, err := s.identity(); err != nil {
		return err
	}
	writer := s.writer()
	for _, obj := range wave {
		key := manifest.KeyOf(obj)
		if slices.Contains(obj.GetFinalizers(), manifest.HookFinalizer) {
			if err := s.dest.RemoveFinalizer(ctx, key, manifest.HookFinalizer); err != nil {
				return fmt.Errorf("let go of %s: %w", key.Short(), err)
			}
		}
		if obj.GetDeletionTimestamp() != nil {
			continue
		}
		if err := writer.Delete(ctx, key, cluster.DeleteOptions{UID: obj.GetUID(), Propagation: policy}); err != nil {
			return fmt.Errorf("delete %s: %w", key.Short(), err)
		}
	}
	return nil
}

// remaining names the objects that are still there, and who holds those that are
// being deleted.
func remaining(objects []*unstructured.Unstructured) string {
	var names []string
	for _, obj := range objects {
		name := manifest.KeyOf(obj).Short()
		holders := slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool {
			return f == metav1.FinalizerDeleteDependents || f == manifest.HookFinalizer
		})
		if obj.GetDeletionTimestamp() != nil && len(holders) > 0 {
			name += " (held by finalizer " + strings.Join(holders, ", ") + ")"
		}
		names = append(names, name)
	}
	return bounded(names)
}

// bounded lists names, and counts those beyond the first few.
func bounded(names []string) string {
	if over := len(names) - maxNamed; over > 0 {
		return strings.Join(names[:maxNamed], ", ") + fmt.Sprintf(" and %d more", over)
	}
	return strings.Join(names, ", ")
}
