// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// number reads a number of decoded JSON or YAML.
func number(v any) (n int64, ok bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), true
	}
	return 0, false
}

// decoded returns base64 text decoded, or as it is if it is none.
func decoded(text string) string {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return text
	}
	return string(data)
}

// maxNamed is how many names a message lists.
const maxNamed = 5

// some lists the first names and counts the rest.
func some(names []string) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > maxNamed:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
	default:
		return strings.Join(names, ", ")
	}
}
