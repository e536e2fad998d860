// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformance is the executable specification of how Wavetrain syncs:
// one file in scenarios/ per statement, run against a real API server. What a
// scenario claims is checked on what the API server shows — watch events with
// their resourceVersions, objects, managedFields — and never on what the engine
// says it did. README.md describes the language.
//
// The package has no code but its tests, and no test of one room belongs here.
package conformance
