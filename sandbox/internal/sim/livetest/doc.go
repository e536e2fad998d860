// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package livetest holds the tests of the simulator on a real control plane, which it builds and starts as a
// process. It has no code but tests: what can be tested without a control plane is tested elsewhere.
package livetest
