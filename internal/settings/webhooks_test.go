// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"testing"

	"github.com/wavetrain/wavetrain/internal/settings"
)

func TestWebhookLimit(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "1": 1 << 20, "100\n": 100 << 20, "1024": 1 << 30} {
		if got, err := settings.WebhookLimit(map[string]string{"webhook.maxPayloadSizeMB": text}); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "-1", "many", "1025", "1Mi", "99999999999999999999"} {
		if got, err := settings.WebhookLimit(map[string]string{"webhook.maxPayloadSizeMB": text}); err == nil || got != 0 {
			t.Errorf("%q is %d; want an error", text, got)
		}
	}
}
