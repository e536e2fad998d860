// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/wavetrain/wavetrain/internal/config"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// planned plans manifests as one service.
func planned(t testing.TB, name, manifests string) Service {
	t.Helper()
	objects, err := manifest.Decode(name+".yaml", []byte(manifests))
	if err != nil {
		t.Fatal(err)
	}
	return Service{Name: name, Plan: plan.Build(plan.Input{App: name, Namespace: "ns", Objects: objects})}
}

func tableOf(s Service) []string {
	var out []string
	for _, m := range Build(Input{Services: []Service{s}}).Services[0].table {
		out = append(out, strings.Join([]string{m.phase(), fmt.Sprint(m.wave()), m.kind, m.name, m.purpose}, " | "))
	}
	return out
}

func TestMerge(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		chart  map[string]string
		want   []string
	}{
		"SameKindAndPurpose": {
			reason: "Objects of one kind and purpose share a row, which says how many they are.",
			in: `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: shop}
spec: {minAvailable: 1}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: shop-worker}
spec: {minAvailable: 1}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: shop-other}
spec: {maxUnavailable: 50%}
`,
			want: []string{
				"Sync | 0 | PodDisruptionBudget | shop, -worker | availability, at least 1 (2 PDBs)",
				"Sync | 0 | PodDisruptionBudget | shop-other | availability, at most 50% down",
			},
		},
		"OtherWave": {
			reason: "A wave is a wave, whatever the purpose.",
			in: `
apiVersion: v1
kind: ServiceAccount
metadata: {name: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: shop-late, annotations: {argocd.argoproj.io/sync-wave: "1"}}
`,
			want: []string{"Sync | 0 | ServiceAccount | shop | pod identity", "Sync | 1 | ServiceAccount | shop-late | pod identity"},
		},
		"RoleAndBinding": {
			reason: "A role and its binding are one thing to the reader, a binding to another role is not.",
			in: `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: shop}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: shop}
roleRef: {kind: Role, name: shop}
subjects: [{kind: ServiceAccount, name: shop}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: shop-view}
roleRef: {kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: viewer}]
`,
			want: []string{"Sync | 0 | Role / RoleBinding | shop | RBAC for shop", "Sync | 0 | RoleBinding | shop-view | RBAC for viewer"},
		},
		"StatedPurposeOfSeveralKinds": {
			reason: "A stated purpose joins several kinds of one subchart, but not objects of the service's own chart.",
			chart:  map[string]string{"shop-db": "shop/db", "shop-db-headless": "shop/db", "shop-other": "shop"},
			in: `
apiVersion: v1
kind: ConfigMap
metadata: {name: shop-db, annotations: {wavetrain.dev/purpose: database}}
---
apiVersion: v1
kind: Service
metadata: {name: shop-db-headless, annotations: {wavetrain.dev/purpose: database}}
---
apiVersion: v1
kind: Secret
metadata: {name: shop-other, annotations: {wavetrain.dev/purpose: database}}
`,
			want: []string{"Sync | 0 | ConfigMap/Service | shop-db, -headless | database", "Sync | 0 | Secret | shop-other | database"},
		},
		"SupportObjects": {
			reason: "What stands around a subchart's workload needs one row if nobody says more about it.",
			chart: map[string]string{
				"shop-redis": "shop/redis", "shop-redis-config": "shop/redis", "shop-redis-headless": "shop/redis", "shop-redis-named": "shop/redis", "shop": "shop",
			},
			in: `
apiVersion: v1
kind: ConfigMap
metadata: {name: shop-redis-config}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shop-redis-named, annotations: {wavetrain.dev/purpose: seeds}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: shop-redis}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: shop}
---
apiVersion: v1
kind: Service
metadata: {name: shop-redis-headless}
spec: {clusterIP: None, ports: [{port: 6379}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: shop-redis}
spec: {template: {spec: {containers: [{name: a, image: "example/redis:8"}]}}}
`,
			want: []string{
				"Sync | 0 | ConfigMap | shop-redis-named | seeds",
				"Sync | 0 | ServiceAccount | shop | pod identity",
				"Sync | 0 | StatefulSet | shop-redis | redis:8",
				"Sync | 0 | ConfigMap/Service/SA | shop-redis-* | Redis support objects",
			},
		},
		"SeveralPhases": {
			reason: "A hook of two phases has a row in each, one that also runs on deletion only those.",
			in: `
apiVersion: batch/v1
kind: Job
metadata: {name: check, annotations: {helm.sh/hook: "pre-install,post-install,post-delete"}}
spec: {template: {spec: {containers: [{name: a, image: a, command: [check]}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: clean, annotations: {helm.sh/hook: "post-delete,pre-delete"}}
spec: {template: {spec: {containers: [{name: a, image: a, command: [clean]}]}}}
`,
			want: []string{
				"PreSync | 0 | Job | check | check",
				"PostSync | 0 | Job | check | check",
				"Delete-only | 0 | Job | clean | clean (post-delete, pre-delete hook, uninstall only)",
			},
		},
		"GeneratedName": {
			reason: "A name that the cluster completes is shown as such.",
			in: `
apiVersion: batch/v1
kind: Job
metadata: {generateName: seed-, annotations: {argocd.argoproj.io/hook: SyncFail}}
spec: {template: {spec: {containers: [{name: a, image: "example/seed:1"}]}}}
`,
			want: []string{"SyncFail | 0 | Job | seed-* | seed:1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects, err := manifest.Decode("shop.yaml", []byte(tc.in))
			if err != nil {
				t.Fatal(err)
			}
			for i := range objects {
				objects[i].Provenance.Chart = tc.chart[objects[i].GetName()]
			}
			s := Service{Name: "shop", Plan: plan.Build(plan.Input{App: "shop", Namespace: "ns", Objects: objects})}
			if diff := cmp.Diff(tc.want, tableOf(s)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestAbbreviate(t *testing.T) {
	cases := map[string]struct {
		reason  string
		service string
		names   []string
		want    string
	}{
		"One":           {reason: "A name is a name.", service: "shop", names: []string{"shop-a"}, want: "shop-a"},
		"Base":          {reason: "The shortest name leads.", service: "assistant-service", names: []string{"assistant-service-tooling", "assistant-service", "assistant-service-intelligence"}, want: "assistant-service, -intelligence, -tooling"},
		"NoBase":        {reason: "What only they share is written once.", service: "core-service", names: []string{"core-service-postgres-init-script", "core-service-postgres-connection"}, want: "core-service-postgres-connection / -init-script"},
		"Service":       {reason: "The service's own name may be short.", service: "shop", names: []string{"shop", "shop-web"}, want: "shop, -web"},
		"ShortPrefix":   {reason: "Some other short name is not worth cutting.", service: "kms", names: []string{"weaviate", "weaviate-grpc", "weaviate-headless"}, want: "weaviate, weaviate-grpc, weaviate-headless"},
		"NothingShared": {reason: "Names that share letters share no prefix.", service: "shop", names: []string{"redis", "redis2"}, want: "redis, redis2"},
		"Many":          {reason: "Seven names are too many for a cell.", service: "shop", names: []string{"shop-a", "shop-b", "shop-c", "shop-d", "shop-e", "shop-f", "shop-g"}, want: "shop-*"},
		"Colons":        {reason: "RBAC names have colons.", service: "kyverno", names: []string{"kyverno:rbac:admin", "kyverno:rbac:view"}, want: "kyverno:rbac:admin / :view"},
		"Twice":         {reason: "The same name in two phases is one name.", service: "shop", names: []string{"shop-a", "shop-a"}, want: "shop-a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := abbreviate(tc.service, tc.names); got != tc.want {
				t.Errorf("%s\nwant %s\ngot  %s", tc.reason, tc.want, got)
			}
		})
	}
}

// service draws a service with objects of many kinds.
func service(t *rapid.T, name string) []manifest.Object {
	n := rapid.IntRange(1, 14).Draw(t, "objects")
	kinds := [][2]string{
		{"v1", "ConfigMap"},
		{"v1", "ServiceAccount"},
		{"v1", "Service"},
		{"apps/v1", "Deployment"},
		{"batch/v1", "Job"},
		{"rbac.authorization.k8s.io/v1", "Role"},
		{"rbac.authorization.k8s.io/v1", "RoleBinding"},
		{"policy/v1", "PodDisruptionBudget"},
		{"external-secrets.io/v1", "ExternalSecret"},
		{"example.com/v1", "Widget"},
	}
	seen := map[string]bool{}
	var objects []manifest.Object
	for range n {
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		object := name + rapid.SampledFrom([]string{"", "-a", "-b", "-sub", "-sub-a"}).Draw(t, "suffix")
		if seen[kind[1]+object] {
			continue
		}
		seen[kind[1]+object] = true
		annotations := map[string]any{}
		for key, values := range map[string][]string{
			manifest.AnnotationSyncWave: {"", "", "-1", "3"},
			manifest.AnnotationHook:     {"", "", "", "PreSync", "PostSync,SyncFail", "PostDelete", "PreSync,PreDelete", "Skip"},
			manifest.AnnotationPurpose:  {"", "", "one thing", "another | thing"},
		} {
			if v := rapid.SampledFrom(values).Draw(t, key); v != "" {
				annotations[key] = v
			}
		}
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": kind[0], "kind": kind[1],
			"metadata": map[string]any{"name": object, "annotations": annotations},
		}}
		chart := rapid.SampledFrom([]string{"", name, name + "/sub"}).Draw(t, "chart")
		objects = append(objects, manifest.Object{Unstructured: u, Provenance: manifest.Provenance{File: object + ".yaml", Chart: chart}})
	}
	return objects
}

func buildPage(services map[string][]manifest.Object, order []string) *Page {
	var in Input
	for _, name := range order {
		in.Services = append(in.Services, Service{
			Name: name, Plan: plan.Build(plan.Input{App: name, Namespace: "ns", Objects: services[name]}),
			Config: config.Config{Purposes: []config.Purpose{{Match: "Service/*-a", Purpose: "configured"}}},
		})
	}
	return Build(in)
}

func TestMergeKeepsEveryObject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		services := map[string][]manifest.Object{"shop": service(t, "shop"), "core-service": service(t, "core-service")}
		order := []string{"shop", "core-service"}
		page := buildPage(services, order)
		for i, name := range order {
			s := page.Services[i]
			wantRows := map[string]int{}
			for _, r := range s.Rows {
				wantRows[r.Phase+fmt.Sprint(r.Wave)+r.Kind+r.Name]++
			}
			for _, m := range s.table {
				for _, e := range m.entries {
					wantRows[e.Phase+fmt.Sprint(e.Wave)+e.Kind+e.Name]--
					if e.Phase != m.phase() || e.Wave != m.wave() {
						t.Fatalf("a row of %s %d holds an object of %s %d", m.phase(), m.wave(), e.Phase, e.Wave)
					}
				}
			}
			for row, n := range wantRows {
				if n != 0 {
					t.Fatalf("%s: %s is in %d rows too few", name, row, n)
				}
			}
			for _, o := range services[name] {
				class := manifest.Classify(o.Unstructured)
				want := len(class.Phases)
				if class.OnlyOnDelete() {
					want = 1
				}
				got := 0
				for _, r := range s.Rows {
					if r.Kind == o.GetKind() && r.Name == o.GetName() {
						got++
						if len(r.Hook) != len(class.Types) && class.Hook {
							t.Fatalf("hook types of %s: want %v, got %v", r.Name, class.Types, r.Hook)
						}
					}
				}
				if got != want {
					t.Fatalf("%s/%s: want %d rows, got %d", o.GetKind(), o.GetName(), want, got)
				}
			}
		}
	})
}

func TestPageDoesNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		services := map[string][]manifest.Object{"shop": service(t, "shop"), "core-service": service(t, "core-service")}
		order := []string{"shop", "core-service"}
		first := buildPage(services, order)
		for name, objects := range services {
			services[name] = rapid.Permutation(objects).Draw(t, name)
		}
		again := buildPage(services, order)
		if diff := cmp.Diff(first.Markdown(), again.Markdown()); diff != "" {
			t.Fatal(diff)
		}
		a, errA := first.JSON()
		b, errB := again.JSON()
		if errA != nil || errB != nil || !slices.Equal(a, b) {
			t.Fatal("JSON differs", errA, errB)
		}
	})
}

func TestJSONShape(t *testing.T) {
	data, err := Build(Input{Services: []Service{planned(t, "shop", `
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: batch/v1
kind: Job
metadata: {name: b, annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-weight: "-2", helm.sh/hook-delete-policy: hook-succeeded}}
spec: {template: {spec: {containers: [{name: a, image: a, command: [migrate]}]}}}
`)}}).JSON()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"services": []any{map[string]any{"name": "shop", "rows": []any{
			map[string]any{
				"phase": "PreSync", "wave": -2.0, "group": "batch", "version": "v1", "kind": "Job", "namespace": "ns", "name": "b",
				"hook": []any{"pre-install", "pre-upgrade"}, "deletePolicies": []any{"HookSucceeded"},
				"purpose": "migrate", "purposeFrom": "inferred", "file": "shop.yaml",
			},
			map[string]any{
				"phase": "Sync", "wave": 0.0, "group": "", "version": "v1", "kind": "ConfigMap", "namespace": "ns", "name": "a",
				"hook": []any{}, "deletePolicies": []any{}, "purpose": "", "purposeFrom": "", "file": "shop.yaml",
			},
		}}},
		"pattern": []any{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
