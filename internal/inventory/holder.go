// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Holdable reports whether objects of a kind are held by the Pods that use them.
func Holdable(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Kind: "ConfigMap"} || gk == schema.GroupKind{Kind: "Secret"}
}

// HolderKinds are the kinds whose objects hold others.
func HolderKinds() []schema.GroupKind {
	return []schema.GroupKind{{Kind: "Pod"}, {Group: "apps", Kind: "ReplicaSet"}, {Group: "batch", Kind: "Job"}}
}

// Holder returns the first of several objects that still needs a ConfigMap or
// Secret: a Pod that has not ended, or a ReplicaSet or Job that may still make
// one. The zero key stands for nobody.
func Holder(key manifest.Key, users []*unstructured.Unstructured) manifest.Key {
	for _, u := range users {
		if u.GetNamespace() != key.Namespace || !active(u) {
			continue
		}
		if slices.ContainsFunc(manifest.References(u), func(r manifest.Reference) bool { return r.Target == key }) {
			return manifest.KeyOf(u)
		}
	}
	return manifest.Key{}
}

// Holders returns all of several objects that still need a ConfigMap or Secret, as
// their owners are known to people: the ReplicaSet or Job of Pods instead of the Pods.
func Holders(key manifest.Key, users []*unstructured.Unstructured) []manifest.Key {
	var holders []manifest.Key
	for _, u := range users {
		if Holder(key, []*unstructured.Unstructured{u}) == (manifest.Key{}) {
			continue
		}
		holder := manifest.KeyOf(u)
		for _, owner := range u.GetOwnerReferences() {
			if gv, err := schema.ParseGroupVersion(owner.APIVersion); err == nil && u.GetKind() == "Pod" && owner.Controller != nil && *owner.Controller {
				holder = manifest.Key{Group: gv.Group, Kind: owner.Kind, Namespace: u.GetNamespace(), Name: owner.Name}
			}
		}
		if !slices.Contains(holders, holder) {
			holders = append(holders, holder)
		}
	}
	slices.SortFunc(holders, manifest.Key.Compare)
	return holders
}

// active reports whether an object runs Pods, or may still make some.
func active(u *unstructured.Unstructured) bool {
	switch u.GetKind() {
	case "Pod":
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		return phase != "Succeeded" && phase != "Failed"
	case "ReplicaSet":
		wanted, given, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
		return !given || wanted > 0
	case "Job":
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		return !slices.ContainsFunc(conditions, func(item any) bool {
			c, _ := item.(map[string]any)
			return (c["type"] == "Complete" || c["type"] == "Failed") && c["status"] == "True"
		})
	default:
		return false
	}
}
