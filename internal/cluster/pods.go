// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Events returns the events about an object, oldest first. They are read from the
// API server, never watched. An empty UID takes events of any object of that name.
func (c *Cluster) Events(ctx context.Context, key manifest.Key, uid types.UID) ([]corev1.Event, error) {
	selector := fields.Set{"involvedObject.kind": key.Kind, "involvedObject.name": key.Name}
	if uid != "" {
		selector["involvedObject.uid"] = string(uid)
	}
	namespace := cmp.Or(key.Namespace, metav1.NamespaceDefault)
	list, err := c.list(ctx, "read events of", key, corev1.SchemeGroupVersion.WithResource("events"), namespace, selector)
	if err != nil {
		return nil, err
	}
	events := make([]corev1.Event, len(list))
	for i, u := range list {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &events[i]); err != nil {
			return nil, fmt.Errorf("read events of %s: %w", key, err)
		}
	}
	slices.SortStableFunc(events, func(a, b corev1.Event) int {
		return cmp.Or(lastSeen(a).Compare(lastSeen(b).Time), cmp.Compare(a.Name, b.Name))
	})
	return events, nil
}

func lastSeen(e corev1.Event) metav1.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return metav1.Time(e.Series.LastObservedTime)
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp
	case !e.EventTime.IsZero():
		return metav1.Time(e.EventTime)
	default:
		return e.FirstTimestamp
	}
}

// Warnings returns the messages of an object's warning events, newest first, as
// "Reason: message".
func (c *Cluster) Warnings(ctx context.Context, key manifest.Key, uid types.UID) ([]string, error) {
	events, err := c.Events(ctx, key, uid)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range slices.Backward(events) {
		if e.Type == corev1.EventTypeWarning {
			out = append(out, warning(e))
		}
	}
	return out, nil
}

// Pods returns the Pods below a workload or Job, those of a Deployment's newest
// ReplicaSet first, otherwise by name. If Pods, and what stands between them and
// the object, are watched, they come from the cache and must not be changed;
// otherwise the API server is asked.
func (c *Cluster) Pods(ctx context.Context, key manifest.Key) ([]*unstructured.Unstructured, error) {
	owner, err := c.Current(ctx, key)
	if err != nil {
		return nil, err
	}
	if key.GroupKind() == podKind() {
		return []*unstructured.Unstructured{owner}, nil
	}
	owners := []*unstructured.Unstructured{owner}
	if key.Kind == "Deployment" {
		if owners, err = c.below(ctx, owners, replicaSetKind()); err != nil {
			return nil, err
		}
		slices.SortStableFunc(owners, func(a, b *unstructured.Unstructured) int {
			return -cmp.Compare(revision(a), revision(b))
		})
	}
	return c.below(ctx, owners, podKind())
}

func podKind() schema.GroupKind        { return schema.GroupKind{Kind: "Pod"} }
func replicaSetKind() schema.GroupKind { return schema.GroupKind{Group: "apps", Kind: "ReplicaSet"} }

// revision is a ReplicaSet's place in the history of its Deployment.
func revision(rs *unstructured.Unstructured) int {
	n := 0
	// A missing annotation leaves zero, the oldest.
	_, _ = fmt.Sscanf(rs.GetAnnotations()["deployment.kubernetes.io/revision"], "%d", &n)
	return n
}

// Current returns an object from the cache or from the API server.
func (c *Cluster) Current(ctx context.Context, key manifest.Key) (*unstructured.Unstructured, error) {
	if u, ok := c.Get(key); ok {
		return u, nil
	}
	return c.Fetch(ctx, key, "")
}

// below returns the objects of a kind that name one of the owners, owner by owner.
func (c *Cluster) below(ctx context.Context, owners []*unstructured.Unstructured, gk schema.GroupKind) ([]*unstructured.Unstructured, error) {
	if len(owners) == 0 {
		return nil, nil
	}
	res, err := c.catalog.resolve(ctx, gk.WithVersion(""))
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	if c.synced(res, owners[0].GetNamespace()) {
		for _, owner := range owners {
			for _, u := range c.Children(owner.GetUID()) {
				if u.GroupVersionKind().GroupKind() == gk {
					out = append(out, u)
				}
			}
		}
		return out, nil
	}
	all, err := c.list(ctx, "list the "+gk.Kind+"s of", manifest.KeyOf(owners[0]), res.GVR, owners[0].GetNamespace(), nil)
	if err != nil {
		return nil, err
	}
	for _, owner := range owners {
		for _, u := range all {
			if slices.ContainsFunc(u.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() }) {
				out = append(out, u)
			}
		}
	}
	return out, nil
}

// list reads objects from the API server, ordered by name; subject is what they
// are read for.
func (c *Cluster) list(ctx context.Context, op string, about manifest.Key, gvr schema.GroupVersionResource, namespace string, selector fields.Set) ([]*unstructured.Unstructured, error) {
	var list *unstructured.UnstructuredList
	_, _, err := c.try(ctx, call{op: op, key: about, do: func(ctx context.Context) (out *unstructured.Unstructured, err error) {
		list, err = c.dynamic.Resource(gvr).Namespace(namespace).List(ctx, metav1.ListOptions{FieldSelector: selector.String()})
		return nil, err
	}})
	if err != nil {
		return nil, err
	}
	out := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out, nil
}
