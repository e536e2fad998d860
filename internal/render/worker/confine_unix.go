// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker

import (
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// confine takes from the process what it needs for nothing: with no free file
// descriptor it can neither open a file nor connect nor start a process. What is
// open, the pipe, stays.
func confine() error {
	for what, limit := range map[string]int{"open files": unix.RLIMIT_NOFILE, "size of files": unix.RLIMIT_FSIZE, "core": unix.RLIMIT_CORE} {
		if err := unix.Setrlimit(limit, &unix.Rlimit{}); err != nil {
			return fmt.Errorf("limit %s: %w", what, err)
		}
	}
	// Go ignores this signal by itself.
	exceeded := make(chan os.Signal, 1)
	signal.Notify(exceeded, unix.SIGXCPU)
	go func() {
		<-exceeded
		fmt.Fprintln(os.Stderr, exceededCPU)
		os.Exit(1)
	}()
	return nil
}

// boundCPU has the kernel end the process when it has used as much processor time
// more as given.
func boundCPU(more time.Duration) error {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return fmt.Errorf("read processor time: %w", err)
	}
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CPU, &now); err != nil {
		return fmt.Errorf("read limit on processor time: %w", err)
	}
	total := time.Duration(used.Utime.Nano()) + time.Duration(used.Stime.Nano()) + more
	now.Cur = min(uint64(max(total/time.Second, 0))+1, now.Max)
	if err := unix.Setrlimit(unix.RLIMIT_CPU, &now); err != nil {
		return fmt.Errorf("limit processor time: %w", err)
	}
	return nil
}
