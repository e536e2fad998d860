// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker

import (
	"os/exec"
	"syscall"
)

// detach keeps a Ctrl-C at the terminal for the parent, which ends its workers
// itself.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
