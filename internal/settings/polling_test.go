// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wavetrain/wavetrain/internal/settings"
)

func TestPollInterval(t *testing.T) {
	for name, c := range map[string]struct {
		reason, text string
		want         time.Duration
		ok           bool
		problem      string
	}{
		"absent":   {"the ConfigMap does not say", "", 0, false, ""},
		"duration": {"as Argo CD documents it", "180s", 3 * time.Minute, true, ""},
		"number":   {"a bare number is seconds", "90", 90 * time.Second, true, ""},
		"never":    {"0 switches polling off", "0s", settings.Never, true, ""},
		"word":     {"no duration", "often", 0, false, "timeout.reconciliation"},
		"short":    {"nobody wants to be asked that often", "1ms", 0, false, "one second"},
		"negative": {"no duration of time", "-5s", 0, false, "one second"},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok, err := settings.PollInterval(map[string]string{"timeout.reconciliation": c.text})
			if got != c.want || ok != c.ok || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%s: got %v, %v, %v", c.reason, got, ok, err)
			}
		})
	}
}
