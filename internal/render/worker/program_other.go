// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package worker

import (
	"errors"
	"os"
	"os/exec"
)

func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill() // it may have ended already
	}
}

func endedByCPU(*exec.ExitError) bool { return false }

// Become is not known here.
func Become(int, []string, []string) error { return errors.New("plugins run on Unix only") }
