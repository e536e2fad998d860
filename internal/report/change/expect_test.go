// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package change_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wavetrain/wavetrain/internal/report/change"
)

// workload is a workload whose Pods are ready after 10 s at the earliest.
func workload(kind, tag, extra string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: %s
metadata: {name: web}
spec:
  %s
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "web:%s", readinessProbe: {initialDelaySeconds: 10}}]}
`, kind, extra, tag)
}

// The times are those that the manifests make sure of.
func TestExpectedTimes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason     string
		base, head string
		want       time.Duration
		says       string
	}{
		"new":        {"new Pods start together", "", workload("Deployment", "1", "replicas: 4"), 10 * time.Second, "10s until a Pod is available"},
		"quarter":    {"a quarter more and a quarter less than wanted, rounded up and down", workload("Deployment", "1", "replicas: 4"), workload("Deployment", "2", "replicas: 4"), 20 * time.Second, "2 rounds for 4 Pods"},
		"one by one": {"as the strategy says", workload("Deployment", "1", "replicas: 4"), workload("Deployment", "2", "replicas: 4\n  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}"), 40 * time.Second, "4 rounds"},
		"percent":    {"a share of the Pods", workload("Deployment", "1", "replicas: 10"), workload("Deployment", "2", "replicas: 10\n  strategy: {rollingUpdate: {maxSurge: 50%, maxUnavailable: 0}}"), 20 * time.Second, "2 rounds"},
		"available":  {"a Pod has to stay ready", workload("Deployment", "1", "replicas: 1"), workload("Deployment", "2", "replicas: 1\n  minReadySeconds: 5"), 15 * time.Second, "15s until"},
		"recreate":   {"all at once", workload("Deployment", "1", "replicas: 4"), workload("Deployment", "2", "replicas: 4\n  strategy: {type: Recreate}"), 10 * time.Second, "10s until"},
		"stateful":   {"one behind the other, but not those below the partition", workload("StatefulSet", "1", "replicas: 5"), workload("StatefulSet", "2", "replicas: 5\n  updateStrategy: {rollingUpdate: {partition: 2}}"), 30 * time.Second, "3 rounds"},
		"no restart": {"Pods that stay are not waited for", workload("Deployment", "1", "replicas: 4"), workload("Deployment", "1", "replicas: 4\n  revisionHistoryLimit: 1"), 0, "its Pods stay"},
		"more":       {"further Pods are", workload("Deployment", "1", "replicas: 1"), workload("Deployment", "1", "replicas: 4"), 10 * time.Second, "10s until"},
		"none":       {"without Pods there is nothing to wait for", workload("Deployment", "1", "replicas: 0"), workload("Deployment", "2", "replicas: 0"), 0, "it has no Pods"},
		"no probe":   {"nothing is known of the time", "", strings.Replace(workload("Deployment", "1", "replicas: 1"), ", readinessProbe: {initialDelaySeconds: 10}", "", 1), 0, "asks for no delay"},
		"job":        {"a Job has a limit, and needs what it needs", "", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {activeDeadlineSeconds: 90, template: {spec: {containers: []}}}\n", 0, "1m30s at most (activeDeadlineSeconds)"},
		"endless":    {"or none", "", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: {containers: []}}}\n", 0, "without a limit"},
		"canary": {
			"the pauses of a canary, and the people that it waits for",
			"", "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: r}\nspec: {replicas: 1, strategy: {canary: {steps: [{pause: {duration: 2m}}, {pause: {duration: 30}}, {pause: {}}]}}}\n",
			150 * time.Second, "waits for a person",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var base *change.Side
			if c.base != "" {
				base = side(t, c.base)
			}
			a := change.Compare("app", base, side(t, c.head))
			if len(a.Expected.Gates) != 1 {
				t.Fatalf("%s: gates %+v", c.reason, a.Expected.Gates)
			}
			gate := a.Expected.Gates[0]
			if a.Expected.Took.Duration != c.want || gate.AtLeast.Duration != c.want || !strings.Contains(gate.Why, c.says) {
				t.Errorf("%s: %s in all, %s %q; want %s and %q", c.reason, a.Expected.Took.Duration, gate.AtLeast.Duration, gate.Why, c.want, c.says)
			}
		})
	}
}

func TestCriticalPathOfPlan(t *testing.T) {
	t.Parallel()
	later := strings.Replace(workload("Deployment", "1", "replicas: 1"), "{name: web}", `{name: late, annotations: {argocd.argoproj.io/sync-wave: "3"}}`, 1)
	a := change.Compare("app", nil, side(t, workload("Deployment", "1", "replicas: 1")+"---\n"+later+"---\n"+fmt.Sprintf(config, "c", "x")))
	var words []string
	for _, l := range a.Expected.Critical {
		words = append(words, fmt.Sprintf("%s/%d %s %s", l.Phase, l.Wave, l.Object, l.Took.Duration))
	}
	if got := strings.Join(words, ", "); got != "Sync/0 Deployment/web 10s, Sync/3 Deployment/late 10s" || a.Expected.Took.Duration != 20*time.Second {
		t.Errorf("critical path %s in %s", got, a.Expected.Took.Duration)
	}
	if len(a.Expected.Waves) != 2 || a.Expected.Waves[1].Start.Duration != 10*time.Second {
		t.Errorf("waves %+v", a.Expected.Waves)
	}
}

// Times are written as people do.
func TestTimesInWords(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]string{45: "45s at most", 60: "1m at most", 90: "1m30s at most", 610: "10m10s at most", 1800: "30m at most", 3600: "1h at most", 5400: "1h30m at most", 36005: "10h0m5s at most"} {
		a := change.Compare("app", nil, side(t, fmt.Sprintf("apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {activeDeadlineSeconds: %d, template: {spec: {containers: []}}}\n", limit)))
		if text := change.Text([]*change.App{a}, 0); !strings.Contains(text, ", "+want) {
			t.Errorf("%d seconds: want %q in\n%s", limit, want, text)
		}
	}
}
