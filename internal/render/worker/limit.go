// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"fmt"
	"strings"
	"time"
)

// Limits of one rendering.
type Limits struct {
	// Memory is what a worker may occupy, in bytes.
	Memory int64
	// CPU is the processor time, Wall the time that may pass.
	CPU, Wall time.Duration
	// Output bounds the rendered objects, compressed.
	Output int64
}

// WithDefaults fills in what is zero.
func (l Limits) WithDefaults() Limits {
	if l.Memory == 0 {
		l.Memory = 1 << 30
	}
	if l.CPU == 0 {
		l.CPU = time.Minute
	}
	if l.Wall == 0 {
		l.Wall = 90 * time.Second
	}
	if l.Output == 0 {
		l.Output = 64 << 20
	}
	return l
}

// What can be exceeded.
const (
	limitMemory = "memory"
	limitCPU    = "processor time"
	limitWall   = "time"
	limitOutput = "output"
	limitStack  = "depth of templates that include each other"
)

// LimitError says that a rendering was stopped because it wanted too much.
type LimitError struct {
	// App and Path say whose source it was.
	App, Path string
	// Limit is what was exceeded, Max how much of it is granted.
	Limit, Max string
}

// Error names application, source and limit.
func (e *LimitError) Error() string {
	text := fmt.Sprintf("rendering was stopped: it exceeded the limit on %s", e.Limit)
	if e.Max != "" {
		text += " (" + e.Max + ")"
	}
	if e.Path != "" {
		text = fmt.Sprintf("application %s, %s: %s", e.App, e.Path, text)
	}
	return text
}

// exceededCPU are a worker's last words at its limit of processor time.
const exceededCPU = "limit of processor time exceeded"

func bytesText(n int64) string {
	if n >= 1<<30 && n%(1<<30) == 0 {
		return fmt.Sprintf("%d GiB", n>>30)
	}
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// crash tells from a dead worker's last words which limit it ran into.
func crash(words string, limits Limits) *LimitError {
	switch {
	case strings.Contains(words, exceededCPU):
		return &LimitError{Limit: limitCPU, Max: limits.CPU.String()}
	case strings.Contains(words, "stack overflow"), strings.Contains(words, "stack exceeds"):
		return &LimitError{Limit: limitStack}
	case strings.Contains(words, "out of memory"), strings.Contains(words, "cannot allocate memory"):
		return &LimitError{Limit: limitMemory, Max: bytesText(limits.Memory)}
	default:
		return nil
	}
}
