// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package diff says how a live object differs from what is wanted: field by
// field, with who owns each field. Whether an object is in sync and the
// differences people are shown come from the same list of changes.
//
// There are three questions, the cheapest first. Equalish and Settled answer
// without the API server and only ever err towards "no". Equalish says yes when
// the fields that Wavetrain owns on the live object are exactly those that the
// manifest sets, with the same values; Settled when merging the two by the kind's
// schema brings nothing that is not there. What neither is sure of goes through a
// server-side dry run, whose result Compare takes as the prediction.
//
// The room is pure. Secret values never leave it: changes, redacted objects and
// texts say that a value differs, not what it is.
package diff
