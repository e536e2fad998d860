// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"testing"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// largeInput is an application of n objects of the usual mixture: workloads with
// configuration and Secrets, a fifth of them in waves of their own.
func largeInput(n int) Input {
	i := input()
	i.Live = map[manifest.Key]Live{}
	kinds := []string{
		"v1 ConfigMap", "v1 Service", "apps/v1 Deployment", "v1 ServiceAccount", "external-secrets.io/v1 ExternalSecret",
		"policy/v1 PodDisruptionBudget", "networking.k8s.io/v1 Ingress", "batch/v1 Job",
	}
	for k := range n {
		o := object(fmt.Sprintf("%s service-%d", kinds[k%len(kinds)], k/len(kinds)), wave(k%5), in(fmt.Sprintf("chart/templates/%d.yaml", k), 1),
			annotate("example.com/a", "b"), set(map[string]any{"app": "x", "team": "y", "tier": "z"}, "metadata", "labels"))
		switch o.GetKind() {
		case "Deployment", "Job":
			uses(fmt.Sprintf("secret-%d.password", k/len(kinds)), "shared.key?")(&o)
			set([]any{map[string]any{"name": "c", "configMap": map[string]any{"name": "files"}}}, "spec", "template", "spec", "volumes")(&o)
		case "ExternalSecret":
			fetches("vault", fmt.Sprintf("secret-%d", k/len(kinds)), "password", "user")(&o)
		case "ConfigMap":
			for d := range 10 {
				set(fmt.Sprintf("some value of the usual length %d", d), "data", fmt.Sprintf("key-%d", d))(&o)
			}
		}
		if o.GetKind() == "Job" {
			hook("PreSync")(&o)
		}
		i.Objects = append(i.Objects, o)
		key := o.Key()
		key.Namespace = "dest"
		i.Live[key] = live(object("v1 ConfigMap x", uid(fmt.Sprint(k))))
	}
	return i
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{50, 5000} {
		i := largeInput(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Build(i)
			}
		})
	}
}
