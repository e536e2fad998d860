// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package diff says how a live object differs from what is wanted: field by
// field, with who owns each field. Whether an object is in sync and the
// differences people are shown come from the same list of changes.
//
// There are two questions, the cheap one first. Equalish answers without the
// API server and only ever errs towards "no": it says yes when the fields that
// Wavetrain owns on the live object are exactly those that the manifest sets,
// with the same values. What it is not sure of goes through a server-side dry
// run, whose result Compare takes as the prediction.
//
// The room is pure. Secret values never leave it: changes, redacted objects and
// texts say that a value differs, not what it is.
package diff
