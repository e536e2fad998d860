// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import "io/fs"

// Tree is the content of a source at one revision, read-only: the tree of a Git
// commit, a chart, an OCI artifact. Symbolic links are followed inside of it; one
// that leads out is an error.
//
// It records what was read, which is exactly what a result made from it depends
// on.
type Tree interface {
	fs.ReadDirFS
	fs.ReadFileFS
	fs.StatFS

	// Revision is what the content is: a commit id, a chart version, the digest
	// of an artifact.
	Revision() string
	// ObjectID identifies the content of a file or directory; it is "" when there
	// is none. Equal ids are equal content.
	ObjectID(name string) string
	// Reads returns every path that was opened, listed or looked for so far, with
	// the object id found there ("" for nothing). A later tree that gives the same
	// ids for these paths gives the same result.
	Reads() map[string]string
	// Close ends the use of the tree.
	Close() error
}
