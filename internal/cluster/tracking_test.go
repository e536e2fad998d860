// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

func TestTracking(t *testing.T) {
	b := newBench(t)
	b.watch(configMaps())
	id := func(name string) string { return "shop:/ConfigMap:" + b.namespace + "/" + name }
	for _, text := range []string{
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: labelled, labels: {garden: shop}}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: other, labels: {garden: other}}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: north, annotations: {argocd.argoproj.io/tracking-id: '" + id("north") + "', argocd.argoproj.io/installation-id: north}}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: south, labels: {garden: shop}, annotations: {argocd.argoproj.io/tracking-id: '" + id("south") + "', argocd.argoproj.io/installation-id: south}}}",
	} {
		b.apply(b.object(text))
	}
	expect := func(what string, got []*unstructured.Unstructured, want ...string) {
		t.Helper()
		var names []string
		for _, u := range got {
			names = append(names, u.GetName())
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	expect("tracked by default", b.Tracked("shop"), "north", "south")
	expect("labelled where labels do not count", b.Labelled("shop"))

	b.Track(manifest.Tracking{Method: manifest.TrackByLabel, LabelKey: "garden", Installation: "north"})
	expect("tracked in an installation", b.Tracked("shop"), "north")
	expect("labelled", b.Labelled("shop"), "labelled")

	b.apply(b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: new, labels: {garden: shop}}}"))
	b.apply(b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: labelled, labels: {garden: other}}}"))
	expect("labelled after changes", b.Labelled("shop"), "new")
	if err := b.Delete(b.ctx(), b.key("ConfigMap", "new"), DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("labelled after a deletion", b.Labelled("shop"))

	b.Track(manifest.Tracking{})
	expect("tracked by default again", b.Tracked("shop"), "north", "south")
	expect("labelled where labels do not count any more", b.Labelled("shop"))
}
