// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package source

import (
	"os/exec"
	"syscall"
)

// killWithChildren has the whole process group killed when the command's context
// ends.
func killWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
