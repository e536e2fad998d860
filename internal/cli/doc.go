// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line: one file per command, each of which turns
// arguments into a call and the answer into text. It is the only room that
// prints and the only one that reads the environment.
//
// Standard output carries what was asked for and nothing else; progress,
// warnings and hints go to standard error.
package cli
