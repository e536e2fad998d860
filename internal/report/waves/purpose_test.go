// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"testing"

	"github.com/wavetrain/wavetrain/internal/config"
)

func TestInferredPurposes(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   string
	}{
		"Command":         {reason: "A Job is its command.", in: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{name: a, image: a, command: [alembic, upgrade], args: [head]}]}}}", want: "alembic upgrade head"},
		"Script":          {reason: "Of a script the first step counts.", in: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{name: a, image: a, command: [/bin/sh, -ec, \"# prepare\\nset -x\\n\\nalembic upgrade head\\n\"]}]}}}", want: "alembic upgrade head"},
		"LongCommand":     {reason: "A cell is not a terminal.", in: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{name: a, image: a, command: [aaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbb, cccccccccccccccccccc, d]}]}}}", want: "aaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbb ccccccccccccccccc…"},
		"CronJob":         {reason: "Without a command the image tells.", in: "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: \"registry.example:5000/x/backup:2@sha256:abc\"}]}}}}}", want: "backup:2"},
		"ExternalSecret":  {reason: "Store, target and keys.", in: "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: a}\nspec: {secretStoreRef: {name: vault}, target: {name: frontend-secret}, data: [{secretKey: AUTH_SECRET}, {secretKey: BILLING_API_KEY}]}", want: "Vault → frontend-secret (AUTH_SECRET, BILLING_API_KEY)"},
		"ManyKeys":        {reason: "Keys beyond four are counted.", in: "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: a}\nspec: {secretStoreRef: {name: team-store}, data: [{secretKey: a}, {secretKey: b}, {secretKey: c}, {secretKey: d}, {secretKey: e}]}", want: "team-store → a (a, b, c, +2)"},
		"Service":         {reason: "Type and ports.", in: "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80, targetPort: 3000}, {port: 9090}]}", want: "ClusterIP (80 → 3000, 9090)"},
		"Headless":        {reason: "A headless Service is no ClusterIP.", in: "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {clusterIP: None, ports: [{port: 80, targetPort: http}]}", want: "headless (80 → http)"},
		"ExternalName":    {reason: "An alias has no ports.", in: "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: ExternalName, externalName: db.example}", want: "alias of db.example"},
		"IngressHost":     {reason: "The root of a host is the host.", in: "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\nspec: {rules: [{host: ask.example, http: {paths: [{path: /}]}}]}", want: "ask.example"},
		"IngressPath":     {reason: "A path says more than the host that all share.", in: "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\nspec: {rules: [{host: ask.example, http: {paths: [{path: /v2/astsvc}]}}]}", want: "external route /v2/astsvc"},
		"ServiceAccount":  {reason: "Pods have identities.", in: "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}", want: "pod identity"},
		"CloudIdentity":   {reason: "Some are known to a cloud.", in: "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, annotations: {eks.amazonaws.com/role-arn: arn:x}}", want: "pod identity (arn:x)"},
		"Autoscaler":      {reason: "Bounds.", in: "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec: {maxReplicas: 4}", want: "autoscaling, 1–4 replicas"},
		"Budget":          {reason: "Bounds.", in: "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec: {maxUnavailable: 1}", want: "availability, at most 1 down"},
		"Workload":        {reason: "Role and image.", in: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: {app.kubernetes.io/component: worker}}\nspec: {template: {spec: {containers: [{name: a, image: \"x/app:1.2\"}]}}}", want: "worker (app:1.2)"},
		"ConfigMap":       {reason: "What it holds.", in: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {b.toml: x, a.toml: y}", want: "a.toml, b.toml"},
		"Secret":          {reason: "Names of keys, never values.", in: "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: hunter2}", want: "password"},
		"Definition":      {reason: "The kind that it brings.", in: "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec: {group: example.com, names: {kind: Widget}}", want: "defines Widget (example.com)"},
		"Application":     {reason: "What it delivers where.", in: "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {source: {path: charts/a}, destination: {namespace: ask}}", want: "delivers charts/a to ask"},
		"Database":        {reason: "A cluster of what size.", in: "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: a}\nspec: {instances: 3}", want: "PostgreSQL, 3 instances"},
		"Certificate":     {reason: "Names and Secret.", in: "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: a}\nspec: {secretName: a-tls, dnsNames: [a.example]}", want: "TLS for a.example → a-tls"},
		"NetworkPolicy":   {reason: "Directions.", in: "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: a}\nspec: {policyTypes: [Ingress, Egress]}", want: "limits ingress and egress traffic"},
		"Unknown":         {reason: "Of an unknown kind we know nothing.", in: "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}", want: ""},
		"DeletionPurpose": {reason: "A hook of deletion says so.", in: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, annotations: {helm.sh/hook: post-delete}}\nspec: {template: {spec: {containers: [{name: a, image: a, command: [clean]}]}}}", want: "clean (post-delete hook, uninstall only)"},
		"MalformedObject": {reason: "Nonsense in a manifest is no reason to fall over.", in: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {containers: [17, {image: [x]}]}}}", want: "."},
		"MalformedFields": {reason: "Nor is a field of another type.", in: "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\nspec: {rules: {a: b}}", want: "external route"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rows := Build(Input{Services: []Service{planned(t, "shop", tc.in)}}).Services[0].Rows
			if len(rows) != 1 || rows[0].Purpose != tc.want {
				t.Errorf("%s\nwant %q\ngot  %+v", tc.reason, tc.want, rows)
			}
			from := fromInference
			if tc.want == "" {
				from = ""
			}
			if rows[0].PurposeFrom != from {
				t.Errorf("want a purpose from %q, got %q", from, rows[0].PurposeFrom)
			}
		})
	}
}

func TestPurposePrecedence(t *testing.T) {
	s := planned(t, "shop", `
apiVersion: v1
kind: Service
metadata: {name: said, annotations: {wavetrain.dev/purpose: " from the\n object "}}
---
apiVersion: v1
kind: Service
metadata: {name: configured}
---
apiVersion: v1
kind: Service
metadata: {name: silent}
`)
	s.Config = config.Config{Purposes: []config.Purpose{{Match: "Service/*ed", Purpose: "from the file"}, {Match: "Service/said", Purpose: "too late"}}}
	want := map[string][2]string{
		"said":       {"from the object", fromAnnotation},
		"configured": {"from the file", fromConfig},
		"silent":     {"ClusterIP", fromInference},
	}
	for _, r := range Build(Input{Services: []Service{s}}).Services[0].Rows {
		if got := [2]string{r.Purpose, r.PurposeFrom}; got != want[r.Name] {
			t.Errorf("%s: want %v, got %v", r.Name, want[r.Name], got)
		}
	}
}
