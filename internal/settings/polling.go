// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"strings"
	"time"
)

// keyReconciliation says how often repositories are asked for something new.
const keyReconciliation = "timeout.reconciliation"

// Never is the interval of an installation that polls nothing, which hears of
// commits by webhooks.
const Never = 10 * 365 * 24 * time.Hour

// PollInterval reads how often repositories are asked; ok is false if the ConfigMap
// does not say.
func PollInterval(data map[string]string) (interval time.Duration, ok bool, err error) {
	text := strings.TrimSpace(data[keyReconciliation])
	if text == "" {
		return 0, false, nil
	}
	interval, err = time.ParseDuration(text)
	if err != nil {
		// A bare number is seconds, as everywhere.
		interval, err = time.ParseDuration(text + "s")
	}
	switch {
	case err != nil:
		return 0, false, fmt.Errorf("%s in ConfigMap %s is %q: want a duration like 180s", keyReconciliation, Name, text)
	case interval == 0:
		return Never, true, nil
	case interval < time.Second:
		return 0, false, fmt.Errorf("%s in ConfigMap %s is %q: want one second at least, or 0 for never", keyReconciliation, Name, text)
	}
	return interval, true, nil
}
