// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package plan works out the order of a rollout: phases, waves, kinds, hooks
// and prunes become a Plan, an ordered list of groups whose steps run together.
//
// The room is pure and deterministic: the same input in any order gives the
// same plan, byte for byte.
package plan
