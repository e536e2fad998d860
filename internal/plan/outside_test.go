// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// TestOutside looks at what steps wait for that others bring.
func TestOutside(t *testing.T) {
	t.Parallel()
	const (
		job = `
apiVersion: batch/v1
kind: Job
metadata: {name: load, annotations: {argocd.argoproj.io/hook: PreSync%s}}
spec: {template: {spec: {containers: [{name: a, image: b, envFrom: [{secretRef: {name: db}}]}]}}}
`
		secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: db, annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/sync-wave: '-1'}}\n"
	)
	entry := func(object string, by ...string) manifest.External {
		var e manifest.External
		e.Pattern, _ = manifest.ParsePattern(object)
		for _, text := range by {
			e.Object, _ = manifest.ParseNeed(object)
			if phase := manifest.Phase(text); phase.Known() {
				e.Phases = append(e.Phases, phase)
				continue
			}
			p, _ := manifest.ParsePattern(text)
			e.NeededBy = append(e.NeededBy, p)
		}
		return e
	}
	tests := []struct {
		name, reason, objects string
		external              []manifest.External
		options               plan.Options
		want                  []string
	}{
		{name: "nothing said", objects: strings.ReplaceAll(job, "%s", "")},
		{
			name: "annotated", reason: "a namespaced object lies in the namespace of who needs it, a cluster-scoped one in none",
			objects: strings.ReplaceAll(job, "%s", `, wavetrain.dev/needs: "postgresql.cnpg.io/Cluster/databases/core-pg, Secret/db, StorageClass/fast"`),
			want:    []string{"Secret/demo/db", "postgresql.cnpg.io/Cluster/databases/core-pg", "storage.k8s.io/StorageClass/fast"},
		},
		{
			name: "declared and mentioned", reason: "the Job does not start without it",
			objects: strings.ReplaceAll(job, "%s", ""), external: []manifest.External{entry("Secret/d*")}, want: []string{"Secret/demo/db"},
		},
		{
			name: "declared and rendered", reason: "then it does not come from others",
			objects: strings.ReplaceAll(job, "%s", "") + secret, external: []manifest.External{entry("Secret/db")},
		},
		{
			name: "switched off", reason: "EffectGate=false waits for nothing that is only mentioned",
			objects: strings.ReplaceAll(job, "%s", ""), external: []manifest.External{entry("Secret/db")}, options: plan.Options{NoEffects: true},
		},
		{
			name: "needed by an object", objects: strings.ReplaceAll(job, "%s", ""),
			external: []manifest.External{entry("ConfigMap/infra/ready", "Job/lo*")}, want: []string{"ConfigMap/infra/ready"},
		},
		{
			name: "needed by a phase", objects: strings.ReplaceAll(job, "%s", ""),
			external: []manifest.External{entry("ConfigMap/infra/ready", "PreSync"), entry("ConfigMap/infra/later", "Sync")}, want: []string{"ConfigMap/infra/ready"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			objects, err := manifest.Decode("all.yaml", []byte(tt.objects))
			if err != nil {
				t.Fatal(err)
			}
			p := plan.Build(plan.Input{App: "shop", Namespace: "demo", Objects: objects, External: tt.external, Options: tt.options})
			var got []string
			for _, g := range p.Groups {
				for _, s := range g.Steps {
					if s.Key.Kind != "Job" {
						continue
					}
					for _, k := range s.Outside {
						got = append(got, strings.Trim(strings.ReplaceAll(k.String(), "//", "/"), "/"))
					}
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("waits for %q, want %q: %s", got, tt.want, tt.reason)
			}
		})
	}
}

// TestOutsideInTheGroup has what is needed applied first if it is in the group after
// all, whatever the order of kinds.
func TestOutsideInTheGroup(t *testing.T) {
	t.Parallel()
	objects, err := manifest.Decode("all.yaml", []byte(`
apiVersion: v1
kind: ConfigMap
metadata: {name: first, annotations: {wavetrain.dev/needs: Deployment/last}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: last}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: one, annotations: {wavetrain.dev/needs: ConfigMap/two}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two, annotations: {wavetrain.dev/needs: ConfigMap/one}}
`))
	if err != nil {
		t.Fatal(err)
	}
	p := plan.Build(plan.Input{App: "shop", Namespace: "demo", Objects: objects})
	for _, s := range p.Groups[0].Steps {
		switch s.Key.Name {
		case "first":
			if len(s.After) != 1 || !strings.HasSuffix(s.After[0], "Deployment/demo/last") || len(s.Outside) != 1 {
				t.Errorf("first is after %q and waits for %v, want both to be the Deployment", s.After, s.Outside)
			}
		case "one", "two":
			if len(s.Outside) > 0 {
				t.Errorf("%s waits for %v: each would wait for the other for ever", s.Key.Name, s.Outside)
			}
		}
	}
}

func TestNeedsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	objects, err := manifest.Decode("all.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {wavetrain.dev/needs: Cluster/core-pg}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := plan.Build(plan.Input{App: "shop", Namespace: "demo", Objects: objects})
	if len(p.Findings) != 1 || p.Findings[0].Code != plan.CodeInvalidNeeds || !strings.Contains(p.Findings[0].Message, "ConfigMap/a in all.yaml:1") || !strings.Contains(p.Findings[0].Message, "group is needed") {
		t.Errorf("findings %v, want one that names the object, its place and what is wrong", p.Findings)
	}
}
