// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package waves writes the waves page: which objects a service consists of, in
// which phase and wave each is created, what it is for, and why the order is as
// it is — as a table for terminals, Markdown, HTML and JSON.
//
// The room is pure: it reads plans and returns text. Every sentence it writes
// follows from the objects of the plan.
package waves
