// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/verify"
)

// monitoring is a chart of the shape of a monitoring stack: definitions of several
// hundred kilobytes, dashboards, rules of kinds that it defines, an operator, hooks
// and a webhook.
func monitoring() render.Source {
	files := fstest.MapFS{
		"chart/Chart.yaml":  {Data: []byte("apiVersion: v2\nname: stack\nversion: 1.0.0\n")},
		"chart/values.yaml": {Data: []byte("image: {repository: registry.example.com/operator, tag: v1}\n")},
	}
	add := func(name, text string) { files["chart/"+name] = &fstest.MapFile{Data: []byte(text)} }
	for i := range 10 {
		add(fmt.Sprintf("crds/kind%d.yaml", i), largeDefinition(i))
	}
	dashboard := `{"panels": [` + strings.Repeat(`{"title": "requests", "targets": [{"expr": "sum(rate(http_requests_total{job=\"shop\"}[5m])) by (code)"}]},`, 500) + `{}]}`
	for i := range 30 {
		add(fmt.Sprintf("templates/dashboards/d%d.yaml", i), fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-d%d, labels: {grafana_dashboard: '1'}}\ndata:\n  d.json: |-\n    %s\n", i, dashboard))
	}
	for i := range 35 {
		rules := strings.Repeat("\n        - {name: a, size: 3, labels: {severity: critical}}", 20)
		add(fmt.Sprintf("templates/rules/r%d.yaml", i), fmt.Sprintf("apiVersion: acme.io/v1\nkind: Kind%d\nmetadata: {name: {{ .Release.Name }}-r%d}\nspec:\n  level0:\n    level1:\n      items:%s\n", i%10, i, rules))
	}
	for i := range 20 {
		add(fmt.Sprintf("templates/workloads/w%d.yaml", i), strings.NewReplacer("NAME", fmt.Sprintf("w%d", i)).Replace(`apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      serviceAccountName: NAME
      containers: [{name: main, image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}", envFrom: [{configMapRef: {name: "{{ .Release.Name }}-d1"}}]}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: NAME}
---
apiVersion: v1
kind: Service
metadata: {name: NAME}
spec: {selector: {app: NAME}, ports: [{port: 80}]}
`))
	}
	add("templates/hook.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: patch, annotations: {helm.sh/hook: 'pre-install,pre-upgrade'}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}\n")
	return render.Source{Path: "chart", Files: files}
}

// largeDefinition is a definition with a deep and wide schema.
func largeDefinition(i int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kind%[1]ds.acme.io}
spec:
  group: acme.io
  scope: Namespaced
  names: {kind: Kind%[1]d, plural: kind%[1]ds, singular: kind%[1]d, listKind: Kind%[1]dList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
`, i)
	for field := range 40 {
		fmt.Fprintf(&b, "              level%d:\n                type: object\n                description: %s\n                properties:\n", field, strings.Repeat("what it is for ", 10))
		for inner := range 30 {
			fmt.Fprintf(&b, "                  level%d:\n                    type: object\n                    description: %s\n                    properties:\n                      items: {type: array, items: {type: object, properties: {name: {type: string}, size: {type: integer}, labels: {type: object, additionalProperties: {type: string}}}}}\n",
				inner, strings.Repeat("and more of it ", 5))
		}
	}
	return b.String()
}

// BenchmarkMonitoringStack compares what verifying a large chart takes with what
// rendering it takes, in one run. The figure to watch is their ratio.
func BenchmarkMonitoringStack(b *testing.B) {
	src := monitoring()
	var rendering, verifying time.Duration
	objects := 0
	for b.Loop() {
		start := time.Now()
		result, err := render.Render(b.Context(), src, render.Target{AppName: "stack", Namespace: "monitoring"})
		if err != nil {
			b.Fatal(err)
		}
		rendered := time.Now()
		found := verify.Run(verify.Input{Plan: plan.Build(plan.Input{App: "stack", Namespace: "monitoring", Objects: result.Objects})})
		verifying += time.Since(rendered)
		rendering += rendered.Sub(start)
		objects = len(result.Objects)
		for _, f := range found {
			if f.Severity == "error" {
				b.Fatal(f.Message)
			}
		}
	}
	b.ReportMetric(float64(rendering.Milliseconds())/float64(b.N), "ms-render")
	b.ReportMetric(float64(verifying.Milliseconds())/float64(b.N), "ms-verify")
	b.ReportMetric(float64(verifying)/float64(rendering), "verify/render")
	b.ReportMetric(float64(objects), "objects")
}
