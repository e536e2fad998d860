// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import "testing"

func TestForeign(t *testing.T) {
	tests := map[string]struct {
		reason string
		names  []string
		want   string
	}{
		"Nobody": {"Without objects of others nothing would be lost.", nil, ""},
		"One":    {"The object is named.", []string{"other/kept"}, "Bucket other/kept of others"},
		"Many":   {"In any order the same are named, the others are counted.", []string{"d/4", "b/2", "e/5", "a/1", "c/3"}, "Bucket a/1, b/2, c/3 and 2 more of others"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := foreign("Bucket", tt.names); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.reason, got, tt.want)
			}
		})
	}
}
