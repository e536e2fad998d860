// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/window"
)

func subject() window.Subject {
	return window.Subject{Application: "shop", Namespace: "team-a", Server: "https://one.example.test", Cluster: "one"}
}

// at is a moment of Wednesday, 2030-01-02.
func at(clock string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", "2030-01-02 "+clock)
	if err != nil {
		panic(err)
	}
	return t
}

// daily is a window from 10:00 to 12:00 for every Application.
func daily(kind string, change ...func(*v1alpha1.SyncWindow)) v1alpha1.SyncWindow {
	w := v1alpha1.SyncWindow{Kind: kind, Schedule: "0 10 * * *", Duration: "2h", Applications: []string{"*"}}
	for _, c := range change {
		c(&w)
	}
	return w
}

func manual(w *v1alpha1.SyncWindow)  { w.ManualSync = true }
func overrun(w *v1alpha1.SyncWindow) { w.SyncOverrun = true }

func TestDecide(t *testing.T) {
	schedule := func(s, d string) func(*v1alpha1.SyncWindow) {
		return func(w *v1alpha1.SyncWindow) { w.Schedule, w.Duration = s, d }
	}
	zone := func(z string) func(*v1alpha1.SyncWindow) { return func(w *v1alpha1.SyncWindow) { w.TimeZone = z } }
	other := func(w *v1alpha1.SyncWindow) { w.Applications = []string{"other-*"} }
	began := func(clock string) window.Sync { return window.Sync{Started: at(clock)} }
	byHand, automated := window.Sync{Manual: true}, window.Sync{}
	type list = []v1alpha1.SyncWindow

	for name, c := range map[string]struct {
		reason  string
		windows list
		sync    window.Sync
		now     string
		want    bool
		says    string
		changes string
	}{
		"none":                   {"without windows syncs are free", nil, automated, "11:00", true, "", ""},
		"for others":             {"windows for others do not matter", list{daily("deny", other)}, automated, "11:00", true, "", ""},
		"deny, open":             {"an open deny window blocks", list{daily("deny")}, automated, "11:00", false, `deny window "0 10 * * *" for 2h is open until 2030-01-02T12:00:00Z`, "12:00"},
		"deny, at its opening":   {"from the very minute", list{daily("deny")}, automated, "10:00", false, "", "12:00"},
		"deny, at its end":       {"to the very minute", list{daily("deny")}, automated, "12:00", true, "", "34:00"},
		"deny, closed":           {"a closed one does not", list{daily("deny")}, automated, "09:59", true, "", "10:00"},
		"deny, by hand":          {"also syncs by hand", list{daily("deny")}, byHand, "11:00", false, "", "12:00"},
		"deny, manualSync":       {"unless they are let through", list{daily("deny", manual)}, byHand, "11:00", true, "", "12:00"},
		"deny, manualSync, auto": {"which automation is not", list{daily("deny", manual)}, automated, "11:00", false, "", "12:00"},
		"two denies":             {"all open ones must let it through", list{daily("deny", manual), daily("deny")}, byHand, "11:00", false, "", "12:00"},
		"allow, open":            {"an open allow window allows", list{daily("allow")}, automated, "11:00", true, "", "12:00"},
		"allow, closed":          {"outside of it nothing is synced", list{daily("allow")}, automated, "13:00", false, `allow window "0 10 * * *" for 2h opens at 2030-01-03T10:00:00Z`, "34:00"},
		"allow, by hand":         {"not by hand either", list{daily("allow")}, byHand, "13:00", false, "", "34:00"},
		"allow, manualSync":      {"unless it says so", list{daily("allow", manual)}, byHand, "13:00", true, "", "34:00"},
		"one of two allows":      {"one open window is enough", list{daily("allow"), daily("allow", schedule("0 12 * * *", "2h"))}, automated, "13:00", true, "", "14:00"},
		"deny beats allow":       {"deny is stronger", list{daily("allow"), daily("deny")}, automated, "11:00", false, "deny", "12:00"},
		"closed deny, no allow":  {"deny windows alone allow the rest of the time", list{daily("deny")}, automated, "13:00", true, "", "34:00"},
		"overrun":                {"a sync that began in time may finish", list{daily("allow", overrun)}, began("11:59"), "12:30", true, "", "34:00"},
		"no overrun":             {"if the window lets it", list{daily("allow")}, began("11:59"), "12:30", false, "", "34:00"},
		"overrun, began outside": {"and it began in time", list{daily("allow", overrun)}, began("12:10"), "12:30", false, "", "34:00"},
		"deny overrun":           {"the same when a deny window opens", list{daily("deny", overrun)}, began("09:59"), "11:00", true, "", "12:00"},
		"zone":                   {"a schedule has a zone", list{daily("deny", zone("Europe/Berlin"))}, automated, "09:30", false, "(Europe/Berlin) is open until 2030-01-02T11:00:00Z", "11:00"},
		"unknown zone":           {"an unknown one is UTC", list{daily("deny", zone("Mars/Olympus"))}, automated, "09:30", true, "", "10:00"},
		"over midnight":          {"a window may last over midnight", list{daily("deny", schedule("0 22 * * *", "14h"))}, automated, "11:00", false, "", "12:00"},
		"bad schedule":           {"what cannot be read blocks", list{daily("allow", schedule("at noon", "1h"))}, byHand, "11:00", false, `schedule "at noon"`, ""},
		"bad duration":           {"also a duration", list{daily("allow", schedule("0 10 * * *", "long"))}, automated, "11:00", false, `duration "long": want one like 1h30m`, ""},
		"bad kind":               {"also a kind", list{daily("maybe")}, automated, "11:00", false, `kind "maybe"`, ""},
		"bad, for others":        {"but not for others", list{daily("maybe", other)}, automated, "11:00", true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := window.Decide(c.windows, subject(), c.sync, at(c.now))
			if got.Allowed != c.want || !strings.Contains(got.Reason, c.says) || got.Allowed != (got.Reason == "") {
				t.Errorf("%s: got %t, %q", c.reason, got.Allowed, got.Reason)
			}
			changes := time.Time{}
			switch c.changes {
			case "":
			case "34:00":
				changes = at("10:00").AddDate(0, 0, 1)
			default:
				changes = at(c.changes)
			}
			if !got.Changes.Equal(changes) {
				t.Errorf("%s: changes at %s, want %s", c.reason, got.Changes, changes)
			}
		})
	}
}

func TestWhomAWindowConcerns(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		window v1alpha1.SyncWindow
		want   bool
	}{
		"nobody":           {"a window that names nothing concerns nobody", v1alpha1.SyncWindow{}, false},
		"nobody, and":      {"whatever its operator", v1alpha1.SyncWindow{UseAndOperator: true}, false},
		"application":      {"by name", v1alpha1.SyncWindow{Applications: []string{"sh*p"}}, true},
		"namespace":        {"by namespace", v1alpha1.SyncWindow{Namespaces: []string{"other", "team-?"}}, true},
		"cluster":          {"by cluster name", v1alpha1.SyncWindow{Clusters: []string{"one"}}, true},
		"server":           {"by cluster address, across slashes", v1alpha1.SyncWindow{Clusters: []string{"https*"}}, true},
		"one of two":       {"one dimension is enough", v1alpha1.SyncWindow{Applications: []string{"other"}, Namespaces: []string{"team-a"}}, true},
		"one of two, and":  {"unless all must match", v1alpha1.SyncWindow{Applications: []string{"other"}, Namespaces: []string{"team-a"}, UseAndOperator: true}, false},
		"both, and":        {"those that are given", v1alpha1.SyncWindow{Applications: []string{"shop"}, Namespaces: []string{"team-a"}, UseAndOperator: true}, true},
		"malformed":        {"a malformed pattern matches nothing", v1alpha1.SyncWindow{Applications: []string{"["}}, false},
		"other everything": {"others are not concerned", v1alpha1.SyncWindow{Applications: []string{"other"}, Namespaces: []string{"b"}, Clusters: []string{"two"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.window
			w.Kind, w.Schedule, w.Duration = "deny", "0 0 * * *", "24h"
			if blocked := !window.Decide([]v1alpha1.SyncWindow{w}, subject(), window.Sync{}, at("11:00")).Allowed; blocked != c.want {
				t.Errorf("%s: concerned %t", c.reason, blocked)
			}
		})
	}
}

// Between now and the time when a decision may change it does not.
func TestDecisionHoldsUntilItMayChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var windows []v1alpha1.SyncWindow
		for range rapid.IntRange(1, 4).Draw(t, "windows") {
			windows = append(windows, v1alpha1.SyncWindow{
				Kind:         rapid.SampledFrom([]string{"allow", "deny"}).Draw(t, "kind"),
				Schedule:     rapid.SampledFrom([]string{"0 10 * * *", "*/7 * * * *", "30 */2 * * 1-5", "0 0 1 * *", "0 2 29 2 *"}).Draw(t, "schedule"),
				Duration:     rapid.SampledFrom([]string{"1m", "10m", "2h", "30h"}).Draw(t, "duration"),
				TimeZone:     rapid.SampledFrom([]string{"", "Europe/Berlin", "Asia/Kathmandu"}).Draw(t, "zone"),
				Applications: []string{"*"},
			})
		}
		now := at("00:00").Add(time.Duration(rapid.IntRange(0, 400*24*60).Draw(t, "minute")) * time.Minute)
		d := window.Decide(windows, subject(), window.Sync{}, now)
		if !d.Changes.After(now) {
			t.Fatalf("changes at %s, which is not after %s", d.Changes, now)
		}
		later := now.Add(time.Duration(rapid.Float64Range(0, 0.999).Draw(t, "share") * float64(d.Changes.Sub(now))))
		if again := window.Decide(windows, subject(), window.Sync{}, later); again.Allowed != d.Allowed {
			t.Fatalf("allowed %t at %s and %t at %s, before %s", d.Allowed, now, again.Allowed, later, d.Changes)
		}
	})
}
