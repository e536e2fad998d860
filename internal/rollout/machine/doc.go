// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package machine decides what a rollout does next. It is given a plan, the
// record of what has been done, what the cluster looks like and the time, and
// answers with actions, with what it waits for, or with the outcome.
//
// The room is pure: no client, no clock, no goroutine. The driver in
// internal/rollout carries the actions out and reports their results. Whatever
// is hard about order, hooks, crashes and limits is decided here, where it can
// be tested in microseconds.
package machine
