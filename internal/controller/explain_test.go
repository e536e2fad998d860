// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

func TestExplainsWaitsForWhatComesLater(t *testing.T) {
	objects, err := manifest.Decode("all.yaml", []byte(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: graph, namespace: ns}
spec:
  selector: {matchLabels: {app: graph}}
  template:
    metadata: {labels: {app: graph}}
    spec:
      initContainers: [{name: wait, image: "kubectl:1", command: [kubectl, wait, --for=condition=complete, job/schema]}]
      containers: [{name: main, image: "graph:1"}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: schema, namespace: ns, annotations: {argocd.argoproj.io/hook: PostSync}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "job:1"}]}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	explain := planned(plan.Build(plan.Input{App: "app", Namespace: "ns", Objects: objects}))
	got := explain(manifest.Key{Group: "apps", Kind: "Deployment", Namespace: "ns", Name: "graph"})
	for _, want := range []string{"Deployment/graph", "waits for Job/schema", "PostSync"} {
		if !strings.Contains(got, want) {
			t.Errorf("it says %q, which lacks %q", got, want)
		}
	}
	if got := explain(manifest.Key{Group: "batch", Kind: "Job", Namespace: "ns", Name: "schema"}); got != "" {
		t.Errorf("of the Job it says %q", got)
	}
}
