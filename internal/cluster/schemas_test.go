// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/diff"
)

// TestSchema follows what is published about a kind through a change of its definition: a list whose items have a key
// comes to be one that is a whole.
func TestSchema(t *testing.T) {
	b := newBench(t)
	group := b.namespace + ".example.test"
	define := func(listType string) {
		t.Helper()
		b.apply(b.object(fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.%[1]s}, spec: {
			group: %[1]s, scope: Namespaced, names: {plural: things, kind: Thing}, versions: [{name: v1, served: true, storage: true,
			schema: {openAPIV3Schema: {type: object, properties: {list: {type: array, %[2]s,
			items: {type: object, required: [name], properties: {name: {type: string}, v: {type: string, default: d}}}}}}}}]}}`, group, listType)))
	}
	// Somebody else has a second item in the list, of which the manifest knows nothing.
	live := fmt.Sprintf(`{apiVersion: %s/v1, kind: Thing, metadata: {name: x}, list: [{name: a, v: d}, {name: b, v: d}]}`, group)
	want := fmt.Sprintf(`{apiVersion: %s/v1, kind: Thing, metadata: {name: x}, list: [{name: a}]}`, group)
	settled := func() (bool, bool) {
		s := b.Schema(b.ctx(), schema.GroupVersion{Group: group, Version: "v1"})
		return diff.Settled(b.object(want), b.object(live), diff.Options{}, true, s), s != nil
	}
	await := func(what string, wanted bool) {
		t.Helper()
		for deadline := time.Now().Add(patient); ; time.Sleep(50 * time.Millisecond) {
			got, known := settled()
			if known && got == wanted {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: settled %t, schema known %t; want settled %t", what, got, known, wanted)
			}
		}
	}
	if s := b.Schema(b.ctx(), schema.GroupVersion{Group: group, Version: "v1"}); s != nil {
		t.Error("something is published about a kind that does not exist")
	}
	define("x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name]")
	await("items by name", true)
	first := b.Schema(b.ctx(), schema.GroupVersion{Version: "v1"})
	define("x-kubernetes-list-type: atomic")
	await("a whole", false)
	if first == nil || b.Schema(b.ctx(), schema.GroupVersion{Version: "v1"}) != first {
		t.Error("the fields of another group were read anew")
	}
}
