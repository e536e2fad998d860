// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"strconv"
	"strings"
)

// keyPayload says how large the request of a webhook may be.
const keyPayload = "webhook.maxPayloadSizeMB"

// maxPayload bounds what keyPayload may say, in MiB: a request is held in memory.
const maxPayload = 1024

// WebhookLimit reads how large the request of a webhook may be, in bytes; zero if
// the ConfigMap does not say.
func WebhookLimit(data map[string]string) (int64, error) {
	text := strings.TrimSpace(data[keyPayload])
	if text == "" {
		return 0, nil
	}
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil || size < 1 || size > maxPayload {
		return 0, fmt.Errorf("%s in ConfigMap %s is %q: want a number from 1 to %d", keyPayload, Name, text, maxPayload)
	}
	return size << 20, nil
}
