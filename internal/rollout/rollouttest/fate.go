// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollouttest

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// AnnotationFate tells the simulated controllers what becomes of an object:
// "ok", "ok@3s", "bad@3s", "never", or "reject".
const AnnotationFate = "rollouttest.wavetrain.dev/fate"

// AnnotationTTL has a finished object deleted after that time.
const AnnotationTTL = "rollouttest.wavetrain.dev/ttl"

// Guard is a finalizer of somebody else; it is taken off when the time of the
// object's fate has passed after its deletion.
const Guard = "rollouttest.wavetrain.dev/guard"

// Fate is what becomes of an object.
type Fate struct {
	// After is how long its controller takes; Bad ends in failure, Never does not
	// end, Reject makes the API server refuse the object.
	After              time.Duration
	Bad, Never, Reject bool
}

func fateOf(u *unstructured.Unstructured) Fate {
	word, after, _ := strings.Cut(u.GetAnnotations()[AnnotationFate], "@")
	d, err := time.ParseDuration(after)
	if err != nil {
		d = 0
	}
	return Fate{After: d, Bad: word == "bad", Never: word == "never", Reject: word == "reject"}
}

// control schedules what the object's controller does for its generation. The
// caller holds mu.
func (m *Memory) control(u *unstructured.Unstructured) {
	fate := fateOf(u)
	if fate.Never {
		return
	}
	status := statusOf(u, fate.Bad)
	if status == nil {
		return
	}
	key, uid, generation := manifest.KeyOf(u), u.GetUID(), u.GetGeneration()
	m.later(fate.After, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		live := m.objects[key]
		if live == nil || live.GetUID() != uid || live.GetGeneration() != generation {
			return
		}
		if key.Kind == "ExternalSecret" && !fate.Bad {
			m.produce(live)
		}
		next := live.DeepCopy()
		next.Object["status"] = status
		m.put(next)
		if ttl, err := time.ParseDuration(u.GetAnnotations()[AnnotationTTL]); err == nil {
			m.later(ttl, func() { m.evict(key, uid) })
		}
	})
}

// evict deletes an object if it is still the same.
func (m *Memory) evict(key manifest.Key, uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if live := m.objects[key]; live != nil && live.GetUID() == uid {
		m.remove(live)
	}
}

// unguard takes the guard off a deleted object in time. The caller holds mu.
func (m *Memory) unguard(u *unstructured.Unstructured) {
	key := manifest.KeyOf(u)
	m.later(fateOf(u).After, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.release(key, Guard)
	})
}

// produce creates the Secret of an ExternalSecret, of its own name.
func (m *Memory) produce(live *unstructured.Unstructured) {
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": live.GetName(), "namespace": live.GetNamespace()},
		"data":     map[string]any{"token": "eA=="},
	}}
	secret.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: live.GetAPIVersion(), Kind: live.GetKind(), Name: live.GetName(), UID: live.GetUID(),
	}})
	if m.objects[manifest.KeyOf(secret)] == nil {
		m.store(secret)
	}
}

// statusOf returns the status that an object's controller writes in the end; nil
// for kinds that have none.
func statusOf(u *unstructured.Unstructured, bad bool) map[string]any {
	condition := func(kind, status, reason, message string) map[string]any {
		return map[string]any{"type": kind, "status": status, "reason": reason, "message": message}
	}
	switch u.GetKind() {
	case "Deployment":
		if bad {
			return map[string]any{
				"observedGeneration": u.GetGeneration(), "replicas": int64(1), "updatedReplicas": int64(1),
				"conditions": []any{condition("Progressing", "False", "ProgressDeadlineExceeded", "deadline exceeded")},
			}
		}
		return map[string]any{
			"observedGeneration": u.GetGeneration(), "replicas": int64(1), "updatedReplicas": int64(1),
			"readyReplicas": int64(1), "availableReplicas": int64(1),
		}
	case "Job":
		if bad {
			return map[string]any{"conditions": []any{condition("Failed", "True", "BackoffLimitExceeded", "Job has reached the specified backoff limit")}}
		}
		return map[string]any{"succeeded": int64(1), "conditions": []any{condition("Complete", "True", "", "")}}
	case "ExternalSecret":
		if bad {
			return map[string]any{"conditions": []any{condition("Ready", "False", "SecretSyncedError", "permission denied")}}
		}
		return map[string]any{"conditions": []any{condition("Ready", "True", "SecretSynced", "Secret was synced")}}
	}
	return nil
}

// SetStatus writes an object's status, as its controller would.
func (m *Memory) SetStatus(key manifest.Key, status map[string]any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if live := m.objects[key]; live != nil {
		next := live.DeepCopy()
		next.Object["status"] = status
		m.put(next)
	}
}

// Put creates an object as somebody else would.
func (m *Memory) Put(u *unstructured.Unstructured) *unstructured.Unstructured {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.store(u)
}

// Evict deletes an object as somebody else would.
func (m *Memory) Evict(key manifest.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if live := m.objects[key]; live != nil {
		m.remove(live)
	}
}
