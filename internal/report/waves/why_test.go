// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	migration = `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {argocd.argoproj.io/sync-wave: "1"}}
spec: {template: {spec: {containers: [{name: a, image: "example/shop:1"}]}}}
---
`
	web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {argocd.argoproj.io/sync-wave: "2"}}
spec: {template: {spec: {containers: [{name: a, image: "example/shop:1"}]}}}
---
`
)

func TestWhyThisOrder(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   []string
	}{
		"SameImage": {
			reason: "A Job that runs the image of what starts later prepares it.",
			in:     migration + web,
			want:   []string{"Job `migrate` (Sync 1) completes before Deployment `web` (Sync 2) starts: same image `shop:1`."},
		},
		"OtherImage": {
			reason: "A Job that merely runs earlier is no reason.",
			in: migration + `
apiVersion: apps/v1
kind: Deployment
metadata: {name: other, annotations: {argocd.argoproj.io/sync-wave: "2"}}
spec: {template: {spec: {containers: [{name: a, image: "example/other:1"}]}}}
`,
		},
		"SameWave": {
			reason: "In one wave nothing waits for the Job.",
			in: `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec: {template: {spec: {containers: [{name: a, image: "example/shop:1"}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: a, image: "example/shop:1"}]}}}
`,
		},
		"SameDatabase": {
			reason: "Host and database in both configurations tie a bootstrap to what uses it; the transitive step is left out.",
			in: `
apiVersion: v1
kind: ConfigMap
metadata: {name: connection, annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/sync-wave: "-2"}}
data: {PGHOST: shop-pg-rw, PGPORT: "5432", APP_DATABASE: shop}
---
apiVersion: batch/v1
kind: Job
metadata: {name: role-init, annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/sync-wave: "-1"}}
spec: {template: {spec: {containers: [{name: a, image: psql, envFrom: [{configMapRef: {name: connection}}]}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: config}
data: {settings.toml: "host = \"shop-pg-rw\"\nname = \"shop\""}
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {argocd.argoproj.io/sync-wave: "1"}}
spec: {template: {spec: {containers: [{name: a, image: "example/shop:1"}], volumes: [{name: c, configMap: {name: config}}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {argocd.argoproj.io/sync-wave: "2"}}
spec: {template: {spec: {containers: [{name: a, image: "example/shop:1"}], volumes: [{name: c, configMap: {name: config}}]}}}
`,
			want: []string{
				"ConfigMap `connection` (PreSync −2) is there before Job `role-init` (PreSync −1), which uses it.",
				"Job `role-init` (PreSync −1) completes before Job `migrate` (Sync 1) starts: both use database `shop` on `shop-pg-rw`.",
				"ConfigMap `config` (Sync 0) is there before Job `migrate` (Sync 1) and Deployment `web` (Sync 2), which use it.",
				"Job `migrate` (Sync 1) completes before Deployment `web` (Sync 2) starts: same image `shop:1`.",
			},
		},
		"OtherDatabase": {
			reason: "Another database on the same host, or a name that is part of another, is no tie.",
			in: `
apiVersion: batch/v1
kind: Job
metadata: {name: role-init, annotations: {argocd.argoproj.io/hook: PreSync}}
spec: {template: {spec: {containers: [{name: a, image: psql, env: [{name: PGHOST, value: pg-rw}, {name: APP_DATABASE, value: shop}]}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: a, image: "example/other:1", env: [{name: URL, value: "postgres://pg-rw/workshop"}]}]}}}
`,
		},
		"ProducedSecret": {
			reason: "A Secret that is made first, also inside the wave, with the keys that are read.",
			in: `
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: shop-es}
spec: {secretStoreRef: {kind: ClusterSecretStore, name: vault}, target: {name: shop-secret}, data: [{secretKey: A}, {secretKey: B}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: a, image: a, env: [{name: A, valueFrom: {secretKeyRef: {name: shop-secret, key: A}}}]}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: optional}
spec: {template: {spec: {containers: [{name: a, image: a, env: [{name: B, valueFrom: {secretKeyRef: {name: shop-secret, key: B, optional: true}}}]}]}}}
`,
			want: []string{"ExternalSecret `shop-es` (Sync 0) makes Secret `shop-secret` before Deployment `web` (Sync 0), which needs it (A); should ClusterSecretStore `vault` refuse, the rollout stops there."},
		},
		"ProducedTooLate": {
			reason: "An object that needs the Secret before it is made is not said to wait for it.",
			in: `
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: shop-es, annotations: {argocd.argoproj.io/sync-wave: "1"}}
spec: {target: {name: shop-secret}, data: [{secretKey: A}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: a, image: a, envFrom: [{secretRef: {name: shop-secret}}]}]}}}
`,
		},
		"Autoscaler": {
			reason: "An autoscaler scales.",
			in: web + `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, annotations: {argocd.argoproj.io/sync-wave: "3"}}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 3}
`,
			want: []string{"Deployment `web` (Sync 2) is there before HorizontalPodAutoscaler `web` (Sync 3), which scales it."},
		},
		"Lifted": {
			reason: "An object that stands elsewhere than it asked for is named.",
			in: `
apiVersion: v1
kind: Namespace
metadata: {name: shop, annotations: {argocd.argoproj.io/sync-wave: "5"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: shop}
`,
			want: []string{"Namespace `shop` is moved from Sync 5 to Sync 0, because ConfigMap `a` needs it."},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Build(Input{Services: []Service{planned(t, "shop", tc.in)}}).Services[0].why
			if len(got) == 0 {
				got = nil
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRemark(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   string
	}{
		"OneGroup": {
			reason: "A service without an order of its own says so.",
			in:     "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {containers: []}}}",
			want:   "shop is one Deployment without hooks or subcharts: all 2 objects land in Sync 0.",
		},
		"NoPods": {
			reason: "Some run nothing.",
			in:     "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}",
			want:   "shop is configuration without Pods, hooks or subcharts: all 2 objects land in Sync 0.",
		},
		"TwoGroups": {
			reason: "Who has an order needs no remark.",
			in:     migration + web,
		},
		"Nothing": {reason: "Nothing is nothing.", in: "", want: "Nothing is rendered."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Build(Input{Services: []Service{planned(t, "shop", tc.in)}}).Services[0].remark; got != tc.want {
				t.Errorf("%s\nwant %s\ngot  %s", tc.reason, tc.want, got)
			}
		})
	}
}
