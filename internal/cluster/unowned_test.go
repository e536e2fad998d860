// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestUnowned(t *testing.T) {
	b := newBench(t)
	b.watch(configMaps(), schema.GroupKind{Kind: "Service"})
	parent := b.apply(b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: alone, annotations: {argocd.argoproj.io/tracking-id: 'shop:/ConfigMap:elsewhere/alone'}}}"))
	owned := "ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: alone, uid: " + string(parent.GetUID()) + "}]"
	for _, text := range []string{
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: owned, " + owned + "}}",
		"{apiVersion: v1, kind: Secret, metadata: {name: alone}}",
		"{apiVersion: v1, kind: Secret, metadata: {name: owned, " + owned + "}}",
		"{apiVersion: v1, kind: Secret, metadata: {name: token, annotations: {kubernetes.io/service-account.name: default, kubernetes.io/service-account.uid: x}}}",
		"{apiVersion: v1, kind: Endpoints, metadata: {name: alone}}",
		"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: 0, serviceName: db, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: x}]}}, volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}",
	} {
		b.apply(b.object(text))
	}
	names := func(list []Unowned) string {
		var all []string
		for _, u := range list {
			// What comes with every namespace may come any time.
			if u.Key.Name == "default" || u.Key.Name == "kube-root-ca.crt" {
				continue
			}
			text := u.Key.Kind + "/" + u.Key.Name
			if u.TrackingID != "" {
				text += " of " + u.TrackingID
			}
			all = append(all, text)
		}
		return strings.Join(all, ", ")
	}
	if diff := cmp.Diff("ConfigMap/alone of shop:/ConfigMap:elsewhere/alone", names(b.WatchedUnowned(b.namespace))); diff != "" {
		t.Errorf("watched (-want +got):\n%s", diff)
	}
	listed, err := b.ListUnowned(b.ctx(), b.namespace)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("Secret/alone, StatefulSet/db", names(listed)); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	made, err := b.ClaimsOfSets(b.ctx(), b.namespace)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"data-db-0": true, "data-db-12": true, "data-db": false, "data-db-x": false, "logs-db-0": false, "data-db-0-copy": false} {
		if made(name) != want {
			t.Errorf("that a set has made %s is %t", name, !want)
		}
	}
	// Once a kind is watched it is read from the cache.
	b.watch(schema.GroupKind{Kind: "Secret"})
	if got := names(b.WatchedUnowned(b.namespace)); !strings.HasSuffix(got, ", Secret/alone") {
		t.Errorf("watched are %s", got)
	}
}
