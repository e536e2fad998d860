// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// holder returns the process that runs a control plane on a data directory, 0 if none does. A running sandbox holds a
// record lock on the file "lock" there, so the answer comes from the kernel: it cannot be stale, and a process number
// that was given to another program meanwhile cannot be mistaken for ours.
func holder(dataDir string) (int, error) {
	file, err := os.OpenFile(filepath.Join(dataDir, "lock"), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look whether the sandbox runs: %w", err)
	}
	defer func() { _ = file.Close() }() // Nothing was written.
	lock := syscall.Flock_t{Type: syscall.F_WRLCK}
	if err := syscall.FcntlFlock(file.Fd(), syscall.F_GETLK, &lock); err != nil {
		return 0, fmt.Errorf("look whether the sandbox runs: %w", err)
	}
	if lock.Type == syscall.F_UNLCK {
		return 0, nil
	}
	return int(lock.Pid), nil
}
