// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package source turns a repository URL and a revision into an immutable
// snapshot: the tree of a commit, read by object id from a bare mirror. There is
// no checkout and no lock on readers, so a thousand applications of one
// repository read it side by side.
//
// Git itself is the git binary, run without hooks, filters, system or user
// configuration and without ever asking for a password. The room does not know
// what is inside a tree; rendering belongs to the render room.
package source
