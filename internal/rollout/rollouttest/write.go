// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollouttest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Apply implements rollout.Writer.
func (m *Memory) Apply(_ context.Context, obj *unstructured.Unstructured, o cluster.ApplyOptions) (*unstructured.Unstructured, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := manifest.KeyOf(obj)
	live := m.objects[key]
	err := m.admit("apply", obj)
	if o.DryRun {
		return obj, err
	}
	m.writes = append(m.writes, Write{Verb: "apply", Key: key, Err: err})
	if err != nil {
		return nil, err
	}
	if live == nil {
		return m.store(obj), nil
	}
	next := obj.DeepCopy()
	keep(next, live)
	next.SetFinalizers(live.GetFinalizers())
	if !reflect.DeepEqual(next.Object["spec"], live.Object["spec"]) {
		next.SetGeneration(live.GetGeneration() + 1)
	}
	next.SetResourceVersion(live.GetResourceVersion())
	if reflect.DeepEqual(next.Object, live.Object) {
		return live.DeepCopy(), nil
	}
	return m.put(next), nil
}

// keep carries over what an apply does not touch.
func keep(next, live *unstructured.Unstructured) {
	next.SetUID(live.GetUID())
	next.SetGeneration(live.GetGeneration())
	next.SetCreationTimestamp(live.GetCreationTimestamp())
	next.SetDeletionTimestamp(live.GetDeletionTimestamp())
	next.SetOwnerReferences(live.GetOwnerReferences())
	if status, ok := live.Object["status"]; ok {
		next.Object["status"] = status
	}
}

// Try implements rollout.Writer.
func (m *Memory) Try(ctx context.Context, obj *unstructured.Unstructured, anew bool, o cluster.ApplyOptions) error {
	o.DryRun = true
	try := m.Apply
	if anew {
		try = m.Create
	}
	_, err := try(ctx, obj, o)
	return err
}

// Create implements rollout.Writer.
func (m *Memory) Create(_ context.Context, obj *unstructured.Unstructured, o cluster.ApplyOptions) (*unstructured.Unstructured, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := manifest.KeyOf(obj)
	err := m.admit("create", obj)
	if _, taken := m.objects[key]; err == nil && taken {
		err = problem("create", key, cluster.Conflict, apierrors.NewAlreadyExists(resource(key), key.Name))
	}
	if o.DryRun {
		return obj, err
	}
	m.writes = append(m.writes, Write{Verb: "create", Key: key, Mark: obj.GetAnnotations()[manifest.AnnotationOperation], Err: err})
	if err != nil {
		return nil, err
	}
	return m.store(obj), nil
}

// Delete implements rollout.Writer.
func (m *Memory) Delete(_ context.Context, key manifest.Key, o cluster.DeleteOptions) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fail("delete", key); err != nil {
		return err
	}
	u := m.objects[key]
	if u == nil || o.DryRun || o.UID != "" && o.UID != u.GetUID() {
		return nil
	}
	m.writes = append(m.writes, Write{Verb: "delete", Key: key})
	m.remove(u)
	return nil
}

// RemoveFinalizer implements rollout.Writer.
func (m *Memory) RemoveFinalizer(_ context.Context, key manifest.Key, finalizer string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fail("release", key); err != nil {
		return err
	}
	m.release(key, finalizer)
	return nil
}

func (m *Memory) release(key manifest.Key, finalizer string) {
	u := m.objects[key]
	if u == nil || !slices.Contains(u.GetFinalizers(), finalizer) {
		return
	}
	next := u.DeepCopy()
	next.SetFinalizers(slices.DeleteFunc(next.GetFinalizers(), func(f string) bool { return f == finalizer }))
	if len(next.GetFinalizers()) == 0 && next.GetDeletionTimestamp() != nil {
		m.drop(next)
		return
	}
	m.put(next)
}

// admit checks a write as an API server would.
func (m *Memory) admit(verb string, obj *unstructured.Unstructured) error {
	key := manifest.KeyOf(obj)
	if err := m.fail(verb, key); err != nil {
		return err
	}
	if _, known := m.scope(key.GroupKind()); !known {
		return &cluster.UnknownKindError{GVK: obj.GroupVersionKind(), Server: server}
	}
	if key.Namespace != "" && m.objects[manifest.Key{Kind: "Namespace", Name: key.Namespace}] == nil {
		return problem(verb, key, cluster.Rejected, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, key.Namespace))
	}
	if errs := validation.IsDNS1123Subdomain(key.Name); len(errs) > 0 {
		return problem(verb, key, cluster.Rejected, apierrors.NewInvalid(key.GroupKind(), key.Name,
			field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), key.Name, errs[0])}))
	}
	if fateOf(obj).Reject {
		return problem(verb, key, cluster.Rejected, apierrors.NewForbidden(resource(key), key.Name, errors.New("refused by fate")))
	}
	return nil
}

// server is how errors name this cluster.
const server = "memory"

func problem(op string, key manifest.Key, reason cluster.Reason, err error) error {
	return &cluster.Error{Op: op, Key: key, Server: server, Reason: reason, Err: err}
}

func (m *Memory) fail(verb string, key manifest.Key) error {
	for _, f := range m.faults {
		if err := f(verb, key); err != nil {
			return err
		}
	}
	return nil
}

// store creates an object and lets its controller know.
func (m *Memory) store(obj *unstructured.Unstructured) *unstructured.Unstructured {
	u := obj.DeepCopy()
	m.uids++
	u.SetUID(types.UID("uid-" + strconv.FormatInt(m.uids, 10)))
	u.SetCreationTimestamp(metav1.NewTime(m.now))
	u.SetGeneration(1)
	return m.put(u)
}

// put stores an object's new state.
func (m *Memory) put(u *unstructured.Unstructured) *unstructured.Unstructured {
	key := manifest.KeyOf(u)
	before := m.objects[key]
	m.version++
	u.SetResourceVersion(strconv.FormatInt(m.version, 10))
	m.objects[key] = u
	if before == nil || before.GetGeneration() != u.GetGeneration() {
		m.control(u.DeepCopy())
	}
	m.tell(u)
	return u.DeepCopy()
}

// remove deletes an object as far as its finalizers allow.
func (m *Memory) remove(u *unstructured.Unstructured) {
	if len(u.GetFinalizers()) == 0 {
		m.drop(u)
		return
	}
	if u.GetDeletionTimestamp() == nil {
		next := u.DeepCopy()
		now := metav1.NewTime(m.now)
		next.SetDeletionTimestamp(&now)
		m.put(next)
		if slices.Contains(next.GetFinalizers(), Guard) {
			m.unguard(next)
		}
	}
}

// drop takes an object away, and everything it owns.
func (m *Memory) drop(u *unstructured.Unstructured) {
	delete(m.objects, manifest.KeyOf(u))
	m.tell(u)
	for _, child := range m.objects {
		if ownedBy(child, u.GetUID()) {
			m.remove(child)
		}
	}
}

func (m *Memory) tell(u *unstructured.Unstructured) {
	c := cluster.Change{Key: manifest.KeyOf(u), UID: u.GetUID()}
	for _, r := range u.GetOwnerReferences() {
		c.Owners = append(c.Owners, r.UID)
	}
	for _, fn := range m.watches {
		fn(c)
	}
}

func resource(key manifest.Key) schema.GroupResource {
	return schema.GroupResource{Group: key.Group, Resource: strings.ToLower(key.Kind) + "s"}
}
