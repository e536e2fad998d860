// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/sandbox/internal/sim/rules"
	"github.com/wavetrain/wavetrain/sandbox/internal/sim/thirdparty"
)

// objects are those that third-party controllers look after.
type objects struct {
	mu    sync.Mutex
	byUID map[types.UID]*objectNotes
}

// objectTimes is when something about an object was first seen.
type objectTimes struct {
	generation int64
	// since is for the latest generation, deletion for the wish to delete it, ended for the end of a Job.
	since, deletion, ended time.Time
}

// objectNotes is what the watch notes of an object, and what its worker has done.
type objectNotes struct {
	objectTimes
	work objectState
}

// objectState is what the worker knows of its object; nobody else touches it.
type objectState struct {
	objectTimes
	// from is when the clock of the effects began: at since, or later when the Pods needed something.
	from time.Time
	// done holds the effects that have happened since then, status the latest status written.
	done   map[string]bool
	status string
}

func newObjects() *objects { return &objects{byUID: map[types.UID]*objectNotes{}} }

// note takes over an object as it is now.
func (s *objects) note(o *unstructured.Unstructured, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locked(o, now)
}

func (s *objects) locked(o *unstructured.Unstructured, now time.Time) *objectNotes {
	notes := s.byUID[o.GetUID()]
	if notes == nil {
		notes = &objectNotes{}
		s.byUID[o.GetUID()] = notes
	}
	if notes.since.IsZero() || o.GetGeneration() > notes.generation {
		notes.generation, notes.since = o.GetGeneration(), now
	}
	if o.GetDeletionTimestamp() != nil && notes.deletion.IsZero() {
		notes.deletion = now
	}
	if notes.ended.IsZero() && o.GetKind() == "Job" && (conditionIs(o, "Complete", "True") || conditionIs(o, "Failed", "True")) {
		notes.ended = now
	}
	return notes
}

// state is note for the object's worker; a new generation begins anew.
func (s *objects) state(o *unstructured.Unstructured, now time.Time) *objectState {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := s.locked(o, now)
	if notes.work.done == nil || notes.work.generation != notes.generation {
		notes.work = objectState{done: map[string]bool{}}
	}
	notes.work.objectTimes = notes.objectTimes
	return &notes.work
}

// since is when the latest generation of an object was first seen.
func (s *objects) since(uid types.UID) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := s.byUID[uid]
	if notes == nil {
		return time.Time{}, false
	}
	return notes.since, true
}

func (s *objects) forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byUID, uid)
}

func objectItem(k kind, o *unstructured.Unstructured) item {
	return item{role: roleObject, gvr: k.gvr, namespace: o.GetNamespace(), name: o.GetName()}
}

func (e *engine) objectChanged(k kind, o *unstructured.Unstructured, gone bool) {
	it := objectItem(k, o)
	if gone {
		e.objects.forget(o.GetUID())
		e.census.forget(o.GetUID())
		e.blocked.remove(it)
		e.agenda.drop(it)
	} else {
		e.census.of(o.GetKind(), o.GetNamespace(), o.GetName(), o.GetUID())
		e.objects.note(o, e.clock.Now())
		e.queue.Add(it)
	}
	e.changed(o.GetNamespace())
}

// enqueueOwners has the owners of an object looked at again.
func (e *engine) enqueueOwners(o interface {
	GetNamespace() string
	GetOwnerReferences() []metav1.OwnerReference
},
) {
	for _, ref := range o.GetOwnerReferences() {
		for _, k := range e.kinds.named(ref.Kind) {
			e.queue.Add(item{role: roleObject, gvr: k.gvr, namespace: o.GetNamespace(), name: ref.Name})
		}
	}
}

// syncObject does what third-party controllers do with an object, as far as the time has come.
func (e *engine) syncObject(ctx context.Context, it item) error {
	o := e.watches.get(it.gvr, it.namespace, it.name)
	if o == nil {
		return nil
	}
	now := e.clock.Now()
	state := e.objects.state(o, now)
	effects, err := e.objectEffects(o)
	if err != nil {
		return err
	}
	if o.GetDeletionTimestamp() != nil {
		return e.letGo(ctx, it, o, state, effects)
	}
	if name := effects.AddsFinalizer; name != "" && !slices.Contains(o.GetFinalizers(), name) {
		if err := e.setFinalizers(ctx, it, o, append(slices.Clone(o.GetFinalizers()), name)); err != nil {
			return err
		}
	}
	if !e.needsMet(it, o, effects) {
		return nil
	}
	if state.from.IsZero() {
		state.from = state.since
		if effects.Needs != nil || effects.NeedsCompleted != nil {
			state.from = now
		}
	}
	if err := e.happen(ctx, it, o, state, effects); err != nil {
		return err
	}
	if err := e.thenDelete(ctx, it, o, state, effects); err != nil {
		return err
	}
	return e.behave(ctx, it, o, state, effects)
}

// objectEffects returns the rules for an object.
func (e *engine) objectEffects(o *unstructured.Unstructured) (*rules.Rule, error) {
	if o.GetKind() != "Pod" || o.GetAPIVersion() != "v1" {
		return e.rules.forObject(e.objectSubject(o)), nil
	}
	pod, err := e.cache.pods.Pods(o.GetNamespace()).Get(o.GetName())
	if err != nil || pod.UID != o.GetUID() {
		return nil, errLater
	}
	subject, err := e.subjectOf(pod, e.pods.get(pod, e.clock.Now()))
	if err != nil {
		return nil, err
	}
	effects := e.rules.forPodObject(subject)
	// A Pod's own needs are its kubelet's business.
	effects.Needs, effects.NeedsCompleted = nil, nil
	return effects, nil
}

// objectSubject is what rules see of an object.
func (e *engine) objectSubject(o *unstructured.Unstructured) *rules.Object {
	gvk := o.GroupVersionKind()
	subject := &rules.Object{
		Group: gvk.Group, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName(), Generation: o.GetGeneration(),
		Occurrence: e.census.of(gvk.Kind, o.GetNamespace(), o.GetName(), o.GetUID()),
	}
	subject.StorageClass, _, _ = unstructured.NestedString(o.Object, "spec", "storageClassName")
	for _, path := range [][]string{{"spec"}, {"spec", "template", "spec"}, {"spec", "jobTemplate", "spec", "template", "spec"}} {
		for _, list := range []string{"initContainers", "containers"} {
			containers, _, _ := unstructured.NestedSlice(o.Object, append(slices.Clone(path), list)...)
			for _, c := range containers {
				if m, ok := c.(map[string]any); ok {
					image, _ := m["image"].(string)
					subject.Images = append(subject.Images, image)
				}
			}
		}
	}
	return subject
}

// needsMet reports whether the Pods of a workload could start: until then nothing comes of it either.
func (e *engine) needsMet(it item, o *unstructured.Unstructured, effects *rules.Rule) bool {
	var refs []rules.Ref
	if effects.Needs != nil {
		refs = effects.Needs.Refs
	}
	e.blocked.add(it, true)
	for _, ref := range refs {
		if !e.Exists(ref.Kind, cmp.Or(ref.Namespace, o.GetNamespace()), ref.Name) {
			return false
		}
	}
	for _, ref := range effects.NeedsCompleted {
		if !e.Completed(ref.Kind, cmp.Or(ref.Namespace, o.GetNamespace()), ref.Name) {
			return false
		}
	}
	e.blocked.remove(it)
	return true
}

// letGo drops the finalizer of a third-party controller, as long as that controller could be alive.
func (e *engine) letGo(ctx context.Context, it item, o *unstructured.Unstructured, state *objectState, effects *rules.Rule) error {
	f := effects.RemovesFinalizer
	if f == nil || !slices.Contains(o.GetFinalizers(), f.Name) {
		e.blocked.remove(it)
		return nil
	}
	if due := state.deletion.Add(f.After); e.clock.Now().Before(due) {
		e.wakeAt(it, due)
		return nil
	}
	e.blocked.add(it, true)
	for _, ref := range f.While {
		if !e.Exists(ref.Kind, cmp.Or(ref.Namespace, o.GetNamespace()), ref.Name) {
			return nil
		}
	}
	e.blocked.remove(it)
	return e.setFinalizers(ctx, it, o, slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(s string) bool { return s == f.Name }))
}

// behave runs the behaviour of a shipped rule set.
func (e *engine) behave(ctx context.Context, it item, o *unstructured.Unstructured, state *objectState, effects *rules.Rule) error {
	if effects.Behaves == "" || effects.Behaves == rules.BehavesNone {
		return nil
	}
	// Noted first: what the behaviour looks at may change while it looks.
	e.blocked.add(it, true)
	// What it writes into objects is real time.
	now, shown := e.clock.Now(), time.Now()
	reaction, err := thirdparty.React(effects.Behaves, o, shown, shown.Add(state.from.Sub(now)), e)
	if err != nil {
		return err
	}
	if !reaction.Waits {
		e.blocked.remove(it)
	}
	if !reaction.Wake.IsZero() {
		e.wakeAt(it, reaction.Wake.Add(now.Sub(shown)))
	}
	for _, object := range reaction.Objects {
		if err := e.update(ctx, o, object); err != nil {
			return err
		}
	}
	if reaction.Status != nil {
		return e.patchStatus(ctx, it, o, reaction.Status)
	}
	return nil
}

// Object implements thirdparty.World.
func (e *engine) Object(kind, namespace, name string) *unstructured.Unstructured {
	for _, k := range e.kinds.named(kind) {
		if found := e.watches.get(k.gvr, namespace, name); found != nil {
			return found
		}
	}
	return nil
}

// SecretData implements thirdparty.World.
func (e *engine) SecretData(namespace, name string) map[string][]byte {
	secret, err := e.cache.secrets.Secrets(namespace).Get(name)
	if err != nil {
		return nil
	}
	if secret.Data == nil {
		return map[string][]byte{}
	}
	return secret.Data
}
