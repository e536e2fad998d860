// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// What was waited for in each wave, and what became of the last one, which no
// operation waits for.
func TestTimeOfWaves(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }
	key := func(kind, name string) manifest.Key { return manifest.Key{Kind: kind, Namespace: "ns", Name: name} }
	r := newRollouts(nil)
	tell := func(seconds int, kind event.Type, group int, phase manifest.Phase, wave int, object manifest.Key) {
		r.note(event.Event{
			Type: kind, Time: at(seconds), App: "argocd/shop", Operation: "one", Attempt: 1, Revision: "c0ffee", Group: group, Groups: 2,
			Phase: phase, Wave: wave, Object: object, Message: string(kind),
		})
	}
	none := manifest.Key{}
	tell(0, event.OperationStarted, 0, "", 0, none)
	tell(0, event.GroupStarted, 1, manifest.PreSync, -1, none)
	tell(0, event.StepApplied, 1, manifest.PreSync, -1, key("ConfigMap", "quick"))
	tell(0, event.StepSucceeded, 1, manifest.PreSync, -1, key("ConfigMap", "quick"))
	tell(0, event.StepApplied, 1, manifest.PreSync, -1, key("Job", "migrate"))
	tell(6, event.StepSucceeded, 1, manifest.PreSync, -1, key("Job", "migrate"))
	tell(6, event.GroupPassed, 1, manifest.PreSync, -1, none)
	tell(6, event.GroupStarted, 2, manifest.Sync, 0, none)
	for _, name := range []string{"web", "stuck"} {
		tell(7, event.StepApplied, 2, manifest.Sync, 0, key("Deployment", name))
		tell(7, event.StepSucceeded, 2, manifest.Sync, 0, key("Deployment", name))
	}
	tell(7, event.OperationFinished, 2, manifest.Sync, 0, none)
	seen := func(seconds int, object, what string) Event {
		return Event{Time: at(seconds), Namespace: "ns", Object: object, What: what}
	}
	list := r.report(seenBeside{
		events:  []Event{seen(0, "Job/migrate", "created"), seen(6, "Job/migrate", "completed"), seen(7, "Deployment/web", "created"), seen(9, "Deployment/web", "ready")},
		unready: func(_, object string) bool { return object == "Deployment/stuck" },
		named:   func(commit string) string { return map[string]string{"c0ffee": "rev1"}[commit] }, end: at(20),
	})
	if len(list) != 1 {
		t.Fatalf("%d rollouts, want one", len(list))
	}
	got := list[0]
	var steps, critical []string
	for _, s := range got.Steps {
		steps = append(steps, fmt.Sprintf("%s/%d %s %s+%s %s", s.Phase, s.Wave, s.Object, s.Start.Duration, s.Took.Duration, s.Outcome))
	}
	for _, l := range got.Critical {
		critical = append(critical, fmt.Sprintf("%s %s %v", l.Object, l.Took.Duration, l.Open))
	}
	if want := "PreSync/-1 ConfigMap/quick 0s+0s ; PreSync/-1 Job/migrate 0s+6s completed; Sync/0 Deployment/web 7s+2s ready; Sync/0 Deployment/stuck 7s+13s open"; strings.Join(steps, "; ") != want {
		t.Errorf("the steps are\n%s\nwant\n%s", strings.Join(steps, "; "), want)
	}
	if want := "Job/migrate 6s false; Deployment/stuck 14s true"; strings.Join(critical, "; ") != want {
		t.Errorf("the critical path is %s, want %s", strings.Join(critical, "; "), want)
	}
	if got.Rev != "rev1" || got.App != "shop" || !got.Open || got.Waves[0].Took.Duration != 6*time.Second {
		t.Errorf("the rollout is %+v", got)
	}
}
