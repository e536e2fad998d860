// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// resident returns the memory that a process occupies. The address space says
// nothing: a Go program reserves gigabytes that it never touches.
func resident(pid int) (int64, bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(data)
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize()), err == nil
}

// residentGroup returns what all processes of a group occupy.
func residentGroup(group int) int64 {
	list, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0
	}
	var total int64
	for _, dir := range list {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || groupOf(dir) != group {
			continue
		}
		size, _ := resident(pid)
		total += size
	}
	return total
}

// groupOf returns the process group of a process, 0 if it has ended.
func groupOf(dir string) int {
	data, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return 0
	}
	// The name, in parentheses, may hold anything; state, parent and group follow.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 3 {
		return 0
	}
	group, _ := strconv.Atoi(string(fields[2]))
	return group
}
