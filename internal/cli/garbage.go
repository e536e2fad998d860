// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// How much garbage the controller lets gather before it is collected. Most of what it
// takes is garbage at once, and to collect less often saves time. But memory that
// garbage was in is not given back while anything that is kept lies between: so it
// must not be the more, the more is kept.
const (
	garbageBytes = 32 << 20
	// As a share of what is in use, for processes of very little and very much.
	minGarbagePercent, maxGarbagePercent = 50, 200
)

// garbagePercent is what the runtime is to be told when so much is in use.
func garbagePercent(inUse uint64) int {
	percent := garbageBytes * 100 / max(inUse, 1)
	return int(min(max(percent, minGarbagePercent), maxGarbagePercent))
}

// paceGarbage has the share of garbage follow what is in use: it is set anew after
// every collection, for the rest of the process.
func paceGarbage() {
	set := 0
	var pace func(struct{})
	pace = func(struct{}) {
		inUse := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(inUse)
		live := uint64(0)
		if inUse[0].Value.Kind() == metrics.KindUint64 {
			live = inUse[0].Value.Uint64()
		}
		if percent := garbagePercent(live); percent != set {
			set = percent
			debug.SetGCPercent(percent)
		}
		// Nobody holds it: the next collection finds it.
		runtime.AddCleanup(new(collected), pace, struct{}{})
	}
	pace(struct{}{})
}

// collected tells of a collection by being collected. It is too large to lie in one
// block with others.
type collected [64]byte
