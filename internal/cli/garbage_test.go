// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import "testing"

// There is as much garbage beside much as beside little, within bounds.
func TestGarbageDoesNotGrowWithWhatIsKept(t *testing.T) {
	tests := map[string]struct {
		reason string
		inUse  uint64
		want   int
	}{
		"nothing":   {reason: "there was no collection yet", want: maxGarbagePercent},
		"little":    {reason: "a process that has just begun", inUse: 8 << 20, want: maxGarbagePercent},
		"some":      {reason: "as much garbage as is in use", inUse: garbageBytes, want: 100},
		"more":      {reason: "half as much beside twice as much", inUse: garbageBytes * 4 / 3, want: 75},
		"very much": {reason: "what is kept is looked through each time", inUse: 4 << 30, want: minGarbagePercent},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			if got := garbagePercent(c.inUse); got != c.want {
				t.Errorf("%d %%, want %d: %s", got, c.want, c.reason)
			}
		})
	}
}
