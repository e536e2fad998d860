// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package unstable

import (
	"encoding/base64"
	"strings"
)

// minTelling is how long a value of chance must be so that finding it in a text is
// no chance.
const minTelling = 6

// pattern puts Gap in the place of the values of chance in a text. It is empty if
// nothing else is left, or if there is none of them.
func pattern(text string, chance []string) string {
	pairs := make([]string, 0, 2*len(chance))
	for _, value := range chance {
		if len(value) >= minTelling {
			pairs = append(pairs, value, Gap)
		}
	}
	masked := strings.NewReplacer(pairs...).Replace(text)
	if masked == text || strings.Trim(masked, Gap) == "" {
		return ""
	}
	return masked
}

// Fits tells whether a value is one that the field could have: whether what is
// always the same in it is the same.
func (f Field) Fits(value any) bool {
	if f.Pattern == "" {
		return true
	}
	text, ok := value.(string)
	if !ok {
		return false
	}
	if f.Encoded {
		plain, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return false
		}
		text = string(plain)
	}
	return f.fits(text)
}

func (f Field) fits(text string) bool {
	parts := strings.Split(f.Pattern, Gap)
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, last)
}
