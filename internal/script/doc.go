// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package script runs rules that people write themselves: Argo CD's Lua health scripts and CEL expressions.
//
// Scripts see one object and return a verdict. They reach neither disk nor network nor the environment, and each run
// is bounded in time and steps. They come from a ConfigMap that only administrators of the control plane may write:
// the bounds are there so that a mistake in one script cannot stop the others, not to withstand an attacker.
//
// The room compiles and runs; where rules are kept and when they are read anew is not its business.
package script
