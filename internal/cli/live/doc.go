// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package live shows a run while it goes on: one row per Application, saying
// where it is, what it waits for and since when. On a terminal the rows are
// redrawn in place; anywhere else they become lines that are only appended.
//
// It knows nothing of clusters: it is told events and states, and writes text.
package live
