// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package gitserver serves a local directory as a Git repository over HTTP, in
// place of the repository that Applications name. `wavetrain up` and tests use
// it: the content is whatever is committed in the directory, the transport is
// git's own smart protocol.
//
// It listens on loopback only and is read-only.
package gitserver
