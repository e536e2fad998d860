// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package verify proves the order of a plan sound before it runs, and finds what
// else in the rendered objects will not work: a chain of checks, each a pure
// function from a plan and what is known of the world to findings.
//
// Every check has stable codes, which docs/checks describes. A finding that is
// not true is a fault of the check: where something cannot be known without a
// cluster the checks say nothing, or say it with severity info.
package verify
