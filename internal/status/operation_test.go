// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

func TestResults(t *testing.T) {
	deploy := object(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: dest}, spec: {template: {spec: {containers: [{image: "web:1"}]}}}}`)
	p := plan.Build(plan.Input{App: "a", Namespace: "dest", Objects: []manifest.Object{{Unstructured: deploy}}})
	got, dropped := Results(p, []machine.StepResult{
		{Key: manifest.KeyOf(deploy), Version: "v1", Status: machine.Synced, Message: "deployment.apps/d created", HookPhase: "Running", SyncPhase: manifest.Sync, Changed: true},
		{Key: manifest.Key{Group: "batch", Kind: "Job", Namespace: "dest", Name: "j"}, Version: "v1", Status: machine.Synced, HookType: manifest.PreSync, HookPhase: "Succeeded", SyncPhase: manifest.PreSync},
	}, 10)
	want := []v1alpha1.ResourceResult{
		{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "dest", Name: "d", Status: "Synced", Message: "deployment.apps/d created", HookPhase: "Running", SyncPhase: "Sync", Images: []string{"web:1"}},
		{Group: "batch", Version: "v1", Kind: "Job", Namespace: "dest", Name: "j", Status: "Synced", HookType: "PreSync", HookPhase: "Succeeded", SyncPhase: "PreSync"},
	}
	if diff := cmp.Diff(want, got); diff != "" || dropped != 0 {
		t.Errorf("dropped %d (-want +got):\n%s", dropped, diff)
	}
}

func TestResultsLeaveOutTheLeastInteresting(t *testing.T) {
	var results []machine.StepResult
	add := func(name string, r machine.StepResult) {
		r.Key = manifest.Key{Kind: "ConfigMap", Name: name}
		results = append(results, r)
	}
	add("same-1", machine.StepResult{Status: machine.Synced, HookPhase: "Succeeded"})
	add("changed-1", machine.StepResult{Status: machine.Synced, HookPhase: "Succeeded", Changed: true})
	add("hook", machine.StepResult{Status: machine.Synced, HookPhase: "Succeeded", HookType: manifest.Sync})
	add("failed", machine.StepResult{Status: machine.SyncFailed, HookPhase: "Failed"})
	add("unhealthy", machine.StepResult{Status: machine.Synced, HookPhase: "Failed"})
	add("pruned", machine.StepResult{Status: machine.StatusPruned, HookPhase: "Succeeded"})
	add("same-2", machine.StepResult{Status: machine.Synced, HookPhase: "Succeeded"})
	add("changed-2", machine.StepResult{Status: machine.Synced, HookPhase: "Succeeded", Changed: true})
	for limit, want := range map[int]string{
		8: "same-1 changed-1 hook failed unhealthy pruned same-2 changed-2",
		7: "same-1 changed-1 hook failed unhealthy pruned changed-2",
		6: "changed-1 hook failed unhealthy pruned changed-2",
		5: "changed-1 hook failed unhealthy pruned",
		0: "hook failed unhealthy pruned",
	} {
		rows, dropped := Results(&plan.Plan{}, results, limit)
		var names []string
		for _, r := range rows {
			names = append(names, r.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("limit %d: %s, want %s", limit, got, want)
		}
		if dropped != len(results)-len(rows) {
			t.Errorf("limit %d: dropped %d of %d, %d are left", limit, dropped, len(results), len(rows))
		}
		if c, ok := Truncated(dropped); ok != (dropped > 0) || ok && !strings.Contains(c.Message, fmt.Sprint(dropped)) {
			t.Errorf("Truncated(%d) = %+v, %v", dropped, c, ok)
		}
	}
}

// Whatever the limit, what is left keeps its order and never lacks what tells
// something.
func TestResultsKeepOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "results")
		results := make([]machine.StepResult, n)
		telling := 0
		for i := range results {
			results[i] = machine.StepResult{Key: manifest.Key{Name: fmt.Sprintf("%02d", i)}, Status: machine.Synced, Changed: rapid.Bool().Draw(t, "changed")}
			if rapid.Bool().Draw(t, "hook") {
				results[i].HookType = manifest.Sync
				telling++
			}
		}
		limit := rapid.IntRange(0, 12).Draw(t, "limit")
		rows, _ := Results(&plan.Plan{}, results, limit)
		if len(rows) != min(n, max(limit, telling)) {
			t.Fatalf("%d results, %d of them telling, limit %d: %d rows", n, telling, limit, len(rows))
		}
		hooks := 0
		for i, r := range rows {
			if i > 0 && rows[i-1].Name >= r.Name {
				t.Fatalf("rows out of order: %s before %s", rows[i-1].Name, r.Name)
			}
			if r.HookType != "" {
				hooks++
			}
		}
		if hooks != telling {
			t.Fatalf("%d of %d hooks are left", hooks, telling)
		}
	})
}

func TestMessages(t *testing.T) {
	at := time.Date(2026, 1, 1, 10, 20, 30, 0, time.UTC)
	if got, want := Retrying("one or more objects failed to apply.", 2, at), "one or more objects failed to apply. Retrying attempt #2 at 10:20:30."; got != want {
		t.Errorf("Retrying = %q, want %q", got, want)
	}
	if got, want := Retried("failed", 0), "failed"; got != want {
		t.Errorf("Retried = %q, want %q", got, want)
	}
	if got, want := Retried("failed", 3), "failed (retried 3 times)."; got != want {
		t.Errorf("Retried = %q, want %q", got, want)
	}
}
