// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package pipeline is the one path from an Application's sources to a plan:
// resolve → render → read live → compare → plan. The command line, the server
// and the controller all take it, so what is previewed is what runs.
//
// It only reads. Writing to a cluster belongs to the rollout room.
package pipeline
