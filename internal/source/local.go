// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
)

// local is a directory of this machine.
type local struct {
	root  *os.Root
	files fs.FS
}

// OpenLocal opens a directory of this machine as the content of a source, as it is
// now: what is in it may be changed and not committed. Nothing outside of the
// directory can be reached.
func OpenLocal(dir string) (Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	return &local{root: root, files: root.FS()}, nil
}

func (l *local) Open(name string) (fs.File, error)          { return l.files.Open(name) }
func (l *local) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(l.files, name) }
func (l *local) ReadFile(name string) ([]byte, error)       { return fs.ReadFile(l.files, name) }
func (l *local) Stat(name string) (fs.FileInfo, error)      { return fs.Stat(l.files, name) }

// Revision implements Tree: what is not committed has none.
func (l *local) Revision() string { return "" }

// ObjectID implements Tree. A directory is identified by the names in it.
func (l *local) ObjectID(name string) string {
	sum := sha256.New()
	if data, err := l.ReadFile(name); err == nil {
		sum.Write(data)
	} else if list, err := l.ReadDir(name); err == nil {
		for _, entry := range list {
			fmt.Fprintf(sum, "%s %t\n", entry.Name(), entry.IsDir())
		}
	} else {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Reads implements Tree. What was read of a directory that changes under the
// reader's hands is no basis for anything.
func (l *local) Reads() map[string]string { return nil }

// Close implements Tree.
func (l *local) Close() error { return l.root.Close() }
