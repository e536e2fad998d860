// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package rollout carries a plan out on a cluster. Its driver runs one goroutine
// per operation: it asks the state machine in rollout/machine what to do, does
// it, and feeds back what the cluster shows. It writes the operation's record
// before any effect that must not be repeated, so that a run can be killed at
// any instant and continued by another process.
//
// The room decides nothing about order; that is the machine's. It knows nothing
// of Applications, sources or status: it is given a plan and a place to keep its
// record.
package rollout
