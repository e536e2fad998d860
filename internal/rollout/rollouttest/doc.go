// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package rollouttest is a cluster in memory for tests of rollouts: objects with
// uids, generations, finalizers and owners, calls that fail as an API server's
// do, and simulated controllers that follow an annotation. The contract suite of
// internal/rollout runs the same calls against it and against a real API server.
//
// Its time is the caller's: nothing happens until Tick is called.
package rollouttest
