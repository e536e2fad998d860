// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func bucketCRD(group, established string, versions ...any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "versions": versions,
			"names": map[string]any{"kind": "Bucket", "plural": "buckets"},
		},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": established}}},
	}}
}

func version(name string, served, storage bool) any {
	return map[string]any{"name": name, "served": served, "storage": storage}
}

func TestKindsOfCRDs(t *testing.T) {
	k := newKinds()
	if k.setCRD(bucketCRD("b.test", "False", version("v1", true, true)), false) || len(k.named("Bucket")) > 0 {
		t.Error("a CRD that is not established is not served")
	}
	if !k.setCRD(bucketCRD("b.test", "True", version("v1beta1", true, false), version("v1", true, true), version("v2", false, false)), false) {
		t.Error("an established CRD is news")
	}
	if k.setCRD(bucketCRD("b.test", "True", version("v1beta1", true, false), version("v1", true, true)), false) {
		t.Error("the same again is no news")
	}
	k.setCRD(bucketCRD("a.test", "True", version("v1", true, true)), false)
	k.byGroup[schema.GroupKind{Group: "core", Kind: "Bucket"}] = kind{gvk: schema.GroupVersionKind{Group: "core", Version: "v1", Kind: "Bucket"}}
	var groups []string
	for _, served := range k.named("Bucket") {
		groups = append(groups, served.gvk.Group)
	}
	if len(groups) != 3 || groups[0] != "core" || groups[1] != "a.test" {
		t.Errorf("groups %v, want the built-in one first, then by name", groups)
	}
	served := k.named("Bucket.b.test")
	if len(served) != 1 || served[0].gvr != (schema.GroupVersionResource{Group: "b.test", Version: "v1", Resource: "buckets"}) {
		t.Errorf("Bucket.b.test is %+v, want the stored version", served)
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "b.test", Version: "v1beta1", Kind: "Bucket"})
	if got, err := k.of(o); err != nil || got.gvr.Version != "v1beta1" {
		t.Errorf("an object is written in its own version: %+v, %v", got, err)
	}
	if !k.setCRD(bucketCRD("b.test", "True"), true) || len(k.named("Bucket.b.test")) > 0 {
		t.Error("a deleted CRD is served no more")
	}
	if _, err := k.of(o); err == nil {
		t.Error("an object of a kind that is not served must be refused")
	}
}
