// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

func TestDecide(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	row := func(name string, status v1alpha1.SyncStatusCode, prune bool) v1alpha1.ResourceStatus {
		return v1alpha1.ResourceStatus{Kind: "ConfigMap", Namespace: "ns", Name: name, Status: status, RequiresPruning: prune}
	}
	const synced, out = v1alpha1.SyncStatusSynced, v1alpha1.SyncStatusOutOfSync
	key := func(name string) manifest.Key { return manifest.Key{Kind: "ConfigMap", Namespace: "ns", Name: name} }
	failed := func(change func(*attempt)) *attempt {
		a := &attempt{Phase: v1alpha1.OperationFailed, Message: "boom", Revision: "abc"}
		if change != nil {
			change(a)
		}
		return a
	}
	due := func(name string, in time.Duration) func(manifest.Key) time.Time {
		return func(k manifest.Key) time.Time {
			if k == key(name) {
				return now.Add(in)
			}
			return time.Time{}
		}
	}
	const problem = "Failed last sync attempt to abc: boom"
	some := []v1alpha1.ResourceStatus{row("a", out, false), row("b", synced, false)}

	for name, c := range map[string]struct {
		reason string
		in     automation
		want   decision
	}{
		"manual":          {"without automation nothing starts by itself", automation{Status: out, Resources: some, Release: "r2", Completed: "r1"}, decision{}},
		"unknown":         {"what could not be compared is not synced", automation{Enabled: true, Status: v1alpha1.SyncStatusUnknown, Release: "r2"}, decision{}},
		"new release":     {"a new rendered set is rolled out", automation{Enabled: true, Status: out, Resources: some, Release: "r2", Completed: "r1"}, decision{Start: true}},
		"first release":   {"so is the first", automation{Enabled: true, Status: out, Resources: some, Release: "r1"}, decision{Start: true}},
		"hook changed":    {"a changed hook is a change although nothing is out of sync", automation{Enabled: true, Status: synced, Hooks: true, Release: "r2", Completed: "r1"}, decision{Start: true}},
		"adopted in sync": {"an application found in sync is left alone", automation{Enabled: true, Status: synced, Hooks: true, Release: "r1"}, decision{}},
		"failed":          {"a failed release is not tried again for nothing", automation{Enabled: true, Status: out, Resources: some, Release: "r2", Completed: "r1", Attempt: failed(nil)}, decision{Problem: problem}},
		"cause changed":   {"it is taken up when its cause has changed", automation{Enabled: true, Status: out, Resources: some, Release: "r2", Attempt: failed(func(a *attempt) { a.CauseChanged = true })}, decision{Start: true}},
		"spaced":          {"but not at once again and again", automation{Enabled: true, Status: out, Resources: some, Release: "r2", Attempt: failed(func(a *attempt) { a.CauseChanged, a.NotBefore = true, now.Add(time.Second) })}, decision{Problem: problem, After: now.Add(time.Second)}},
		"terminated":      {"what a person ended stays ended", automation{Enabled: true, Status: out, Resources: some, Release: "r2", Attempt: failed(func(a *attempt) { a.Terminated, a.CauseChanged = true, true })}, decision{Problem: problem}},
		"drift, no heal":  {"drift alone needs selfHeal", automation{Enabled: true, Status: out, Resources: some, Release: "r1", Completed: "r1"}, decision{}},
		"drift":           {"drift is healed with exactly the drifted objects", automation{Enabled: true, SelfHeal: true, Status: out, Resources: some, Release: "r1", Completed: "r1"}, decision{Start: true, Only: []manifest.Key{key("a")}}},
		"drift again":     {"the second heal waits", automation{Enabled: true, SelfHeal: true, Status: out, Resources: some, Release: "r1", Completed: "r1", HealDue: due("a", time.Second)}, decision{After: now.Add(time.Second)}},
		"drift beside":    {"what drifted beside it does not wait", automation{Enabled: true, SelfHeal: true, Status: out, Resources: []v1alpha1.ResourceStatus{row("a", out, false), row("b", out, false)}, Release: "r1", Completed: "r1", HealDue: due("a", time.Second)}, decision{Start: true, Only: []manifest.Key{key("b")}, After: now.Add(time.Second)}},
		"drift forbidden": {"what the project does not permit is not healed, nor does it widen the heal to everything", automation{Enabled: true, SelfHeal: true, Status: out, Resources: []v1alpha1.ResourceStatus{row("a", v1alpha1.SyncStatusUnknown, false)}, Release: "r1", Completed: "r1"}, decision{}},
		"drift and extra": {"an extra object is healed away only with prune", automation{Enabled: true, SelfHeal: true, Status: out, Resources: []v1alpha1.ResourceStatus{row("a", out, false), row("x", out, true)}, Release: "r1", Completed: "r1"}, decision{Start: true, Only: []manifest.Key{key("a")}}},
		"namespace":       {"drifted metadata of the namespace is healed without a full sync", automation{Enabled: true, SelfHeal: true, Status: out, Namespace: "ns", Resources: some[1:], Release: "r1", Completed: "r1"}, decision{Start: true, Only: []manifest.Key{{Kind: "Namespace", Name: "ns"}}}},
		"foreign":         {"what another application owns is left to it", automation{Enabled: true, SelfHeal: true, Status: out, Resources: some, Foreign: []manifest.Key{key("a")}, Release: "r1", Completed: "r1"}, decision{}},
		"wiped out":       {"an empty source does not delete everything", automation{Enabled: true, Prune: true, Status: out, Resources: []v1alpha1.ResourceStatus{row("x", out, true)}, Release: "r2", Completed: "r1"}, decision{Problem: "Skipping sync attempt: auto-sync will wipe out all resources; set syncPolicy.automated.allowEmpty to allow it, or sync by hand with prune"}},
		"allowed empty":   {"unless that is allowed", automation{Enabled: true, Prune: true, AllowEmpty: true, Status: out, Resources: []v1alpha1.ResourceStatus{row("x", out, true)}, Release: "r2", Completed: "r1"}, decision{Start: true}},
		"beside a prune":  {"metadata of the namespace is healed while an object may not be pruned", automation{Enabled: true, SelfHeal: true, Status: out, Namespace: "ns", Resources: []v1alpha1.ResourceStatus{row("a", synced, false), row("x", out, true)}, Release: "r1", Completed: "r1"}, decision{Start: true, Only: []manifest.Key{{Kind: "Namespace", Name: "ns"}}}},
		"only prunes":     {"nothing to do when all that is left may not be pruned", automation{Enabled: true, Status: out, Resources: []v1alpha1.ResourceStatus{row("a", synced, false), row("x", out, true)}, Release: "r2", Completed: "r1"}, decision{}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.in.HealDue == nil {
				c.in.HealDue = due("", 0)
			}
			if diff := cmp.Diff(c.want, decide(c.in, now)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
