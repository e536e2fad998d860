// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// binaryName is the file the sandbox module builds.
const binaryName = "wavetrain-sandbox"

// BuildCommand is the one command that makes the binary.
const BuildCommand = "make sandbox"

// ErrNoBinary says that the binary was not found; the message says how to build it.
var ErrNoBinary = errors.New(binaryName + " not found")

// FindBinary returns the path of the binary: next to the running executable, in one of the given directories, or on
// PATH, in this order.
func FindBinary(dirs ...string) (string, error) {
	candidates := dirs
	self, err := os.Executable()
	if err == nil {
		if resolved, err := filepath.EvalSymlinks(self); err == nil {
			self = resolved
		}
		candidates = append([]string{filepath.Dir(self)}, dirs...)
	}
	for _, dir := range candidates {
		path := filepath.Join(dir, binaryName)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	path, err := exec.LookPath(binaryName)
	if err != nil {
		return "", fmt.Errorf("%w in %v or on PATH; build it with: %s", ErrNoBinary, candidates, BuildCommand)
	}
	return filepath.Abs(path)
}
