// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker

import (
	"fmt"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// killGroup kills a process and those that it started.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) } // they may have ended already

// endedByCPU tells whether the kernel ended a process at its limit of processor
// time.
func endedByCPU(exit *exec.ExitError) bool {
	status, ok := exit.Sys().(syscall.WaitStatus)
	// A shell reports a child that a signal has ended by its own exit code.
	return ok && (status.Signaled() && status.Signal() == syscall.SIGXCPU || status.ExitStatus() == 128+int(syscall.SIGXCPU))
}

// Become limits the processor time of this process and of those it starts, each,
// and then becomes another program.
func Become(seconds int, line, env []string) error {
	limit := uint64(max(seconds, 1))
	if err := unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: limit, Max: limit + 1}); err != nil {
		return fmt.Errorf("limit processor time: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("limit core: %w", err)
	}
	program, err := exec.LookPath(line[0])
	if err != nil {
		return err
	}
	return syscall.Exec(program, line, env)
}
