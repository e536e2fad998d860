// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

func TestProducersFirst(t *testing.T) {
	const es, store, deploy = "external-secrets.io/v1 ExternalSecret ", "external-secrets.io/v1 SecretStore ", "apps/v1 Deployment "
	vault := func(token string) mutation {
		return set(map[string]any{"name": token, "key": "t"}, "spec", "provider", "vault", "auth", "tokenSecretRef")
	}
	tests := map[string]struct {
		reason   string
		objects  []manifest.Object
		options  Options
		after    map[string][]string
		needs    map[string][]string
		findings []string
	}{
		"SameGroup": {
			reason:  "A producer precedes the workload of its group and its effect is awaited.",
			objects: []manifest.Object{object(es+"e", fetches("v", "s", "a", "b")), object(deploy+"d", uses("s.b", "s.a")), object(deploy + "other")},
			after:   map[string][]string{"Deployment/d": {"ExternalSecret/e"}},
			needs:   map[string][]string{"Deployment/d": {"s[a b] by Sync/0/external-secrets.io/ExternalSecret/dest/e"}},
		},
		"StoreFirst": {
			reason:  "The store comes before what reads from it.",
			objects: []manifest.Object{object(es+"e", fetches("v", "s", "a")), object(store + "v"), object(deploy+"d", uses("s.a"))},
			after:   map[string][]string{"Deployment/d": {"ExternalSecret/e"}, "ExternalSecret/e": {"SecretStore/v"}},
			needs:   map[string][]string{"Deployment/d": {"s[a] by Sync/0/external-secrets.io/ExternalSecret/dest/e"}},
		},
		"IssuerFirst": {
			reason: "The issuer comes before its certificate.",
			objects: []manifest.Object{
				object("cert-manager.io/v1 Certificate c", set("tls", "spec", "secretName"), set("ca", "spec", "issuerRef", "name")),
				object("cert-manager.io/v1 Issuer ca"), object("batch/v1 Job j", hook("Sync"), uses("tls.tls.crt")),
			},
			after: map[string][]string{"Certificate/c": {"Issuer/ca"}, "Job/j": {"Certificate/c"}},
			needs: map[string][]string{"Job/j": {"tls[tls.crt] by Sync/0/cert-manager.io/Certificate/dest/c"}},
		},
		"StoreReadsAnothersSecret": {
			reason: "A store that authenticates with a produced Secret waits for it.",
			objects: []manifest.Object{
				object(es+"token", fetches("outside", "token", "t")), object(store+"v", vault("token")), object(es+"e", fetches("v", "s", "a")),
			},
			after: map[string][]string{"ExternalSecret/e": {"SecretStore/v"}, "SecretStore/v": {"ExternalSecret/token"}},
		},
		"Cycle": {
			reason: "In a cycle the kind order stays, with a warning.",
			objects: []manifest.Object{
				object(store+"v", vault("s")), object(es+"e", fetches("v", "s", "a")), object(deploy+"d", uses("s.a")),
			},
			after:    map[string][]string{"Deployment/d": {"ExternalSecret/e"}},
			needs:    map[string][]string{"Deployment/d": {"s[a] by Sync/0/external-secrets.io/ExternalSecret/dest/e"}},
			findings: []string{"warning producer-cycle"},
		},
		"OptionalNeverWaits": {
			reason:  "An optional reference is the kubelet's affair.",
			objects: []manifest.Object{object(es+"e", fetches("v", "s", "a")), object(deploy+"d", uses("s.a?"))},
		},
		"OtherNamespace": {
			reason:  "A Secret of another namespace is another Secret.",
			objects: []manifest.Object{object(es+"other/e", fetches("v", "s", "a")), object(deploy+"d", uses("s.a"))},
		},
		"EarlierGroup": {
			reason:  "Across groups the effect is awaited, no order inside the group is needed.",
			objects: []manifest.Object{object(es+"e", fetches("v", "s", "a"), wave(-1)), object(deploy+"d", uses("s.a"))},
			needs:   map[string][]string{"Deployment/d": {"s[a] by Sync/-1/external-secrets.io/ExternalSecret/dest/e"}},
		},
		"LaterGroup": {
			reason:  "A producer that comes later cannot be waited for.",
			objects: []manifest.Object{object(es+"e", fetches("v", "s", "a"), wave(1)), object(deploy+"d", uses("s.a"))},
		},
		"NearestProducer": {
			reason: "Of several producers the nearest before counts.",
			objects: []manifest.Object{
				object("batch/v1 CronJob x"), object(es+"e", fetches("v", "s", "a"), hook("PreSync,PostSync")), object(deploy+"d", uses("s.a")),
			},
			needs: map[string][]string{"Deployment/d": {"s[a] by PreSync/0/external-secrets.io/ExternalSecret/dest/e"}},
		},
		"SyncFail": {
			reason:  "SyncFail does not wait for what the failed part should have made.",
			objects: []manifest.Object{object(es+"e", fetches("v", "s", "a")), object("batch/v1 Job j", hook("SyncFail"), uses("s.a"))},
		},
		"KindOrderOnly": {
			reason:  "Switched off for the application.",
			objects: []manifest.Object{object(es+"e", fetches("v", "s", "a")), object(store + "v"), object(deploy+"d", uses("s.a")), object(deploy+"late", uses("s.a"), wave(1))},
			options: Options{KindOrderOnly: true},
			needs:   map[string][]string{"Deployment/late": {"s[a] by Sync/0/external-secrets.io/ExternalSecret/dest/e"}},
		},
		"OffForOne": {
			reason:  "Switched off for one object.",
			objects: []manifest.Object{object(es+"e", fetches("v", "s", "a")), object(deploy+"d", uses("s.a"), annotate(manifest.AnnotationWavetrainOptions, "ProducersFirst=false"))},
		},
		"CNPG": {
			reason:  "A database cluster's Secret counts as well.",
			objects: []manifest.Object{object("postgresql.cnpg.io/v1 Cluster pg", wave(-1)), object("batch/v1 Job j", uses("pg-app.uri", "pg-superuser.password"))},
			needs:   map[string][]string{"Job/j": {"pg-app[uri] by Sync/-1/postgresql.cnpg.io/Cluster/dest/pg"}},
		},
		"ClaimNeverWaits": {
			reason: "A claim is the scheduler's affair.",
			objects: []manifest.Object{
				object("apps/v1 StatefulSet db", set([]any{map[string]any{"metadata": map[string]any{"name": "data"}}}, "spec", "volumeClaimTemplates")),
				object("v1 Pod p", set([]any{map[string]any{"persistentVolumeClaim": map[string]any{"claimName": "data-db-0"}}}, "spec", "volumes")),
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			i := input(tt.objects...)
			i.Options = tt.options
			p := Build(i)
			names := map[string]string{}
			for _, s := range allSteps(p) {
				names[s.ID] = s.Key.Short()
			}
			after, needs := map[string][]string{}, map[string][]string{}
			for _, s := range allSteps(p) {
				for _, id := range s.After {
					after[s.Key.Short()] = append(after[s.Key.Short()], names[id])
				}
				for _, e := range s.Needs {
					text := e.Object.Name + "[" + join(e.Keys) + "] by " + e.ByStep
					needs[s.Key.Short()] = append(needs[s.Key.Short()], text)
				}
			}
			if tt.after == nil {
				tt.after = map[string][]string{}
			}
			if tt.needs == nil {
				tt.needs = map[string][]string{}
			}
			if diff := cmp.Diff(tt.after, after); diff != "" {
				t.Errorf("after: %s (-want +got):\n%s", tt.reason, diff)
			}
			if diff := cmp.Diff(tt.needs, needs); diff != "" {
				t.Errorf("needs: %s (-want +got):\n%s", tt.reason, diff)
			}
			if diff := cmp.Diff(tt.findings, codes(p.Findings)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func join(items []string) string {
	text := ""
	for i, item := range items {
		if i > 0 {
			text += " "
		}
		text += item
	}
	return text
}

func allSteps(p *Plan) []Step {
	var steps []Step
	for _, g := range p.Groups {
		steps = append(steps, g.Steps...)
	}
	return steps
}

// Two nodes share a component exactly when each can be reached from the other.
func TestComponents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "nodes")
		g := newGraph(n)
		for range rapid.IntRange(0, 16).Draw(t, "edges") {
			g.add(rapid.IntRange(0, n-1).Draw(t, "from"), rapid.IntRange(0, n-1).Draw(t, "to"))
		}
		reach := make([][]bool, n)
		for i := range reach {
			reach[i] = make([]bool, n)
			reach[i][i] = true
			for queue := []int{i}; len(queue) > 0; queue = queue[1:] {
				for _, j := range g.edges[queue[0]] {
					if !reach[i][j] {
						reach[i][j] = true
						queue = append(queue, j)
					}
				}
			}
		}
		component, cyclic := g.components()
		inCycle := map[int]bool{}
		for _, members := range cyclic {
			for _, i := range members {
				inCycle[i] = true
			}
		}
		for i := range n {
			alone := true
			for j := range n {
				together := reach[i][j] && reach[j][i]
				if together != (component[i] == component[j]) {
					t.Fatalf("nodes %d and %d: reach each other %v, components %v", i, j, together, component)
				}
				alone = alone && (i == j || !together)
			}
			if alone == inCycle[i] {
				t.Fatalf("node %d: alone %v, in a cycle %v", i, alone, inCycle[i])
			}
		}
		if !slices.IsSortedFunc(cyclic, slices.Compare) {
			t.Fatalf("cycles out of order: %v", cyclic)
		}
	})
}
