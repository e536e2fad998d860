// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"fmt"
	"os"
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
