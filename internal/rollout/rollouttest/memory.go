// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollouttest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rollout"
)

// Memory is a cluster in memory. It is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	now     time.Time
	version int64
	uids    int64
	objects map[manifest.Key]*unstructured.Unstructured
	queue   []scheduled
	watches map[int]func(cluster.Change)
	watch   int
	faults  []Fault
	// Writes are all calls that changed something, in order.
	writes []Write
}

// Write is a call that changed something, or tried to.
type Write struct {
	Verb string
	Key  manifest.Key
	// Mark is the operation annotation of a created hook.
	Mark string
	Err  error
}

// Fault makes calls fail: it is asked before each write and returns nil to let
// it pass.
type Fault func(verb string, key manifest.Key) error

// scheduled is something a simulated controller will do.
type scheduled struct {
	at  time.Time
	seq int64
	do  func()
}

var _ rollout.Cluster = (*Memory)(nil)

// NewMemory returns an empty cluster at the given time.
func NewMemory(now time.Time) *Memory {
	return &Memory{
		now:     now,
		objects: map[manifest.Key]*unstructured.Unstructured{},
		watches: map[int]func(cluster.Change){},
	}
}

// Inject adds a fault.
func (m *Memory) Inject(f Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = append(m.faults, f)
}

// Writes returns all writes so far.
func (m *Memory) Writes() []Write {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.writes)
}

// Objects returns all objects by key.
func (m *Memory) Objects() []*unstructured.Unstructured {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*unstructured.Unstructured
	for _, u := range m.objects {
		all = append(all, u.DeepCopy())
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int {
		return manifest.KeyOf(a).Compare(manifest.KeyOf(b))
	})
	return all
}

// Tick moves time on and lets the simulated controllers do what is due.
func (m *Memory) Tick(now time.Time) {
	for {
		m.mu.Lock()
		m.now = now
		due := m.due(now)
		m.mu.Unlock()
		if due == nil {
			return
		}
		due()
	}
}

func (m *Memory) due(now time.Time) func() {
	first := -1
	for i, s := range m.queue {
		if s.at.After(now) {
			continue
		}
		if first < 0 || s.at.Before(m.queue[first].at) || s.at.Equal(m.queue[first].at) && s.seq < m.queue[first].seq {
			first = i
		}
	}
	if first < 0 {
		return nil
	}
	do := m.queue[first].do
	m.queue = slices.Delete(m.queue, first, first+1)
	return do
}

// NextAt returns when a simulated controller will act next.
func (m *Memory) NextAt() (at time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.queue {
		if !ok || s.at.Before(at) {
			at, ok = s.at, true
		}
	}
	return at, ok
}

// later has something done after d. The caller holds mu.
func (m *Memory) later(d time.Duration, do func()) {
	m.version++
	m.queue = append(m.queue, scheduled{at: m.now.Add(d), seq: m.version, do: do})
}

// Get implements rollout.Live.
func (m *Memory) Get(key manifest.Key) (*unstructured.Unstructured, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u, ok := m.objects[key]
	if !ok {
		return nil, false
	}
	return u.DeepCopy(), true
}

// List implements rollout.Live.
func (m *Memory) List(gk schema.GroupKind) []*unstructured.Unstructured {
	var list []*unstructured.Unstructured
	for _, u := range m.Objects() {
		if u.GroupVersionKind().GroupKind() == gk {
			list = append(list, u)
		}
	}
	return list
}

// GetOwned implements rollout.Live; nobody is known to own anything.
func (m *Memory) GetOwned(key manifest.Key) (*unstructured.Unstructured, []metav1.ManagedFieldsEntry, bool) {
	u, ok := m.Get(key)
	return u, nil, ok
}

// Children implements rollout.Live.
func (m *Memory) Children(uid types.UID) []*unstructured.Unstructured {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*unstructured.Unstructured
	for _, u := range m.objects {
		if ownedBy(u, uid) {
			out = append(out, u.DeepCopy())
		}
	}
	return out
}

// Head implements rollout.Live.
func (m *Memory) Head(key manifest.Key) (cluster.Head, bool) {
	u, ok := m.Get(key)
	if !ok {
		return cluster.Head{}, false
	}
	return headOf(u), true
}

// ChildHeads implements rollout.Live.
func (m *Memory) ChildHeads(uid types.UID) []cluster.Head {
	var heads []cluster.Head
	for _, u := range m.Children(uid) {
		heads = append(heads, headOf(u))
	}
	slices.SortFunc(heads, func(a, b cluster.Head) int { return a.Key.Compare(b.Key) })
	return heads
}

func headOf(u *unstructured.Unstructured) cluster.Head {
	return cluster.Head{Key: manifest.KeyOf(u), UID: u.GetUID(), Version: u.GetResourceVersion(), Owned: len(u.GetOwnerReferences()) > 0}
}

func ownedBy(u *unstructured.Unstructured, uid types.UID) bool {
	return slices.ContainsFunc(u.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == uid })
}

// Subscribe implements rollout.Live.
func (m *Memory) Subscribe(fn func(cluster.Change)) (cancel func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watch++
	id := m.watch
	m.watches[id] = fn
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.watches, id)
	}
}

// Scope implements rollout.Kinds: kinds of built-in groups are served, others
// once their definition exists.
func (m *Memory) Scope(gk schema.GroupKind) (namespaced, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.scope(gk)
}

func (m *Memory) scope(gk schema.GroupKind) (namespaced, known bool) {
	switch gk.Kind {
	case "Namespace", "CustomResourceDefinition", "StorageClass", "IngressClass":
		return false, true
	}
	if !strings.Contains(gk.Group, ".") || strings.HasSuffix(gk.Group, ".k8s.io") || gk.Group == "external-secrets.io" {
		return true, true
	}
	for _, u := range m.objects {
		if defined, ok := manifest.DefinesKind(u); ok && defined == gk {
			return true, true
		}
	}
	return false, false
}

// Watch implements rollout.Kinds.
func (m *Memory) Watch(_ context.Context, gks ...schema.GroupKind) error {
	failed := &cluster.WatchError{}
	for _, gk := range gks {
		if _, known := m.Scope(gk); !known {
			err := &cluster.UnknownKindError{GVK: gk.WithVersion(""), Server: server}
			failed.Kinds = append(failed.Kinds, cluster.KindError{Kind: gk, Err: err})
		}
	}
	if len(failed.Kinds) > 0 {
		return failed
	}
	return nil
}

// Fetch implements rollout.Direct.
func (m *Memory) Fetch(_ context.Context, key manifest.Key, _ string) (*unstructured.Unstructured, error) {
	if u, ok := m.Get(key); ok {
		return u, nil
	}
	return nil, problem("read", key, cluster.Rejected, apierrors.NewNotFound(resource(key), key.Name))
}

// Blocked implements rollout.Direct: nothing is known here.
func (m *Memory) Blocked(context.Context, manifest.Key) string { return "" }
