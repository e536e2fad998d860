// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package findings writes what checks found: as text for a terminal, as Markdown
// for a comment, and as JSON, SARIF and JUnit for machines.
package findings
