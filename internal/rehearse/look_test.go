// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// A plan says what steps need of others, what it was rendered from, and what the API
// server cannot try beforehand.
func TestPlanTellsWhy(t *testing.T) {
	t.Parallel()
	objects, err := manifest.Decode("all.yaml", []byte(`
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: token, annotations: {argocd.argoproj.io/sync-wave: "-1"}}
spec: {secretStoreRef: {kind: ClusterSecretStore, name: vault}, target: {name: api-token}, data: [{secretKey: key, remoteRef: {key: a}}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  selector: {matchLabels: {app: api}}
  template: {metadata: {labels: {app: api}}, spec: {containers: [{name: main, image: api, env: [{name: KEY, valueFrom: {secretKeyRef: {name: api-token, key: key}}}]}]}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: valves.plumbing.example.com}
spec:
  group: plumbing.example.com
  names: {kind: Valve, plural: valves}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
apiVersion: plumbing.example.com/v1
kind: Valve
metadata: {name: main}
`))
	if err != nil {
		t.Fatal(err)
	}
	app := &v1alpha1.Application{}
	app.Name, app.Namespace = "api", "argocd"
	got := describe(&view{
		app: app, looked: []string{"Secret/api-token"},
		plan: plan.Build(plan.Input{App: "api", Namespace: "web", Objects: objects}),
	}, "rev1")
	type told struct {
		Why               []Need
		Inputs, NotDryRun []string
	}
	want := told{
		Why:       []Need{{Subject: "Deployment/api", Needs: "Secret/api-token", ProducedBy: "ExternalSecret/token"}},
		Inputs:    []string{"Secret/api-token"},
		NotDryRun: []string{"Valve/main"},
	}
	if diff := cmp.Diff(want, told{got.Why, got.Inputs, got.NotDryRun}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
