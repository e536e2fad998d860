// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"testing"
	"time"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/window"
)

// FuzzDecide gives windows that nobody would write: a decision comes, and what
// cannot be read forbids.
func FuzzDecide(f *testing.F) {
	f.Add("allow", "* * * * *", "1h", "UTC", "*", int64(0))
	f.Add("deny", "0 22 31 2 *", "100000h", "Europe/Berlin", "app-[a-", int64(1<<40))
	f.Add("deny", "*/5 0-23/2 ? JAN-DEC 0", "30m", "Nowhere/City", "{a,b}", int64(-1<<40))
	f.Add("deny", "@every 1ns", "-5m", "", "", int64(0))
	f.Add("deny", "TZ=Asia/Kathmandu 5 4 * * *", "9223372036s", "Local", "**", int64(1<<33))
	f.Fuzz(func(t *testing.T, kind, schedule, duration, zone, pattern string, seconds int64) {
		windows := []v1alpha1.SyncWindow{{Kind: kind, Schedule: schedule, Duration: duration, TimeZone: zone, Applications: []string{pattern}, SyncOverrun: true}}
		now := time.Unix(seconds%(1<<35), 0)
		for _, started := range []time.Time{{}, now.Add(-time.Hour)} {
			d := window.Decide(windows, window.Subject{Application: "app"}, window.Sync{Started: started}, now)
			if !d.Allowed && d.Reason == "" {
				t.Errorf("%+v forbids without a reason", windows[0])
			}
			if !d.Changes.IsZero() && d.Changes.Before(now) {
				t.Errorf("%+v: the decision of %s changes at %s, before it", windows[0], now, d.Changes)
			}
		}
	})
}
