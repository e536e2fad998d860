// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package status turns what is known of an application into the status that its
// Application object shows, in Argo CD's terms: rows per object, sync status,
// health, summary, history, conditions and the results of an operation.
//
// The room is pure: times are given to it. It compares nothing and judges no
// object itself, and it does not write; the controller does.
package status
