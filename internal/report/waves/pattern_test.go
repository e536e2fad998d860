// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// object is "Kind name wave" or "Kind name wave hook".
func servicesOf(t *testing.T, specs map[string][]string, order []string) Input {
	t.Helper()
	apis := map[string]string{
		"ConfigMap": "v1", "Service": "v1", "ServiceAccount": "v1", "Deployment": "apps/v1", "StatefulSet": "apps/v1",
		"Job": "batch/v1", "HorizontalPodAutoscaler": "autoscaling/v2",
	}
	var in Input
	for _, name := range order {
		var b strings.Builder
		for _, spec := range specs[name] {
			f := strings.Fields(spec)
			fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n  annotations:\n    argocd.argoproj.io/sync-wave: %q\n", apis[f[0]], f[0], f[1], f[2])
			if len(f) > 3 {
				fmt.Fprintf(&b, "    argocd.argoproj.io/hook: %s\n", f[3])
			}
			b.WriteString("spec: {template: {spec: {containers: []}}}\n---\n")
		}
		in.Services = append(in.Services, planned(t, name, b.String()))
	}
	return in
}

func TestPattern(t *testing.T) {
	cases := map[string]struct {
		reason   string
		services map[string][]string
		order    []string
		want     []string
	}{
		"Roles": {
			reason: "Waves of one role share a bucket whatever their number; ranges are the waves that the same services have.",
			order:  []string{"a-service", "b-service", "c-service", "frontend"},
			services: map[string][]string{
				"a-service": {"ConfigMap a-service-pg -2 PreSync", "Job a-service-init -1 PreSync", "Service a-service 0", "Job a-service-migration 1", "Deployment a-service 2", "HorizontalPodAutoscaler a-service 2"},
				"b-service": {"ConfigMap b-service-pg -2 PreSync", "Job b-service-init -1 PreSync", "Service b-service 0", "StatefulSet b-service-db 0", "Job b-service-migration 1", "Deployment b-service 2"},
				"c-service": {"ConfigMap c-service-pg -2 PreSync", "Job c-service-init -1 PreSync", "Job c-service-setup 1 PreSync", "Service c-service 0", "Job c-service-migrations 4", "Deployment c-service 5", "HorizontalPodAutoscaler c-service 6"},
				"frontend":  {"Service frontend 0", "Deployment frontend 0"},
			},
			want: []string{
				"PreSync (-2 → -1) | ConfigMap pg → Job init | all backends | ",
				"PreSync 1 | Job setup | c only | ",
				"Sync 0 | Service | all | only in b: StatefulSet db; only in frontend: Deployment",
				"Sync 1 (c: 4) | Job migration | all backends | ",
				"Sync 2 (c: 5) | Deployment, HPA | all backends | not in b: HPA; c: HPA in wave 6",
			},
		},
		"TwoServicesWithoutCommonNumbers": {
			reason:   "Roles are found even if no number is shared.",
			order:    []string{"a", "b"},
			services: map[string][]string{"a": {"Job a-migrate 1", "Deployment a 2"}, "b": {"Job b-migrate 10", "Deployment b 20"}},
			want: []string{
				"Sync 1 (b: 10) | Job migrate | all | ",
				"Sync 2 (b: 20) | Deployment | all | ",
			},
		},
		"OrderIsKept": {
			reason:   "A Deployment before the Job is not the Deployment after it.",
			order:    []string{"a", "b"},
			services: map[string][]string{"a": {"Job a 1", "Deployment a 2"}, "b": {"Deployment b 5", "Job b 6"}},
			want: []string{
				"Sync 1 | Job | a only | ",
				"Sync 2 (b: 5) | Deployment | all | ",
				"Sync 6 | Job | b only | ",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, b := range Build(servicesOf(t, tc.services, tc.order)).Pattern {
				got = append(got, strings.Join([]string{b.Bucket, b.Purpose, b.Who, strings.Join(b.Exceptions, "; ")}, " | "))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestNoPatternOfOneService(t *testing.T) {
	page := Build(servicesOf(t, map[string][]string{"a": {"Job a 1"}}, []string{"a"}))
	if len(page.Pattern) != 0 || strings.Contains(page.Markdown(), "pattern") {
		t.Error("one service has no pattern")
	}
}
