// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package command is the command line of wavetrain-sandbox: flags, signals, logging, and the line that says it is ready.
// It is the only package of this module that prints.
package command
