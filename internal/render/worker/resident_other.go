// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package worker

// resident is not known without /proc: the limits on time remain, and the worker's
// own collector holds its memory down.
func resident(int) (int64, bool) { return 0, false }

func residentGroup(int) int64 { return 0 }
