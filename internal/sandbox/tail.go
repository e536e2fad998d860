// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"strings"
	"sync"
)

// tailSize bounds what is remembered of a process' standard error.
const tailSize = 4 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailSize; over > 0 {
		t.kept = append([]byte(nil), t.kept[over:]...)
	}
	return len(p), nil
}

// reason returns what the process said of why it ended; "" if it said nothing.
func (t *tail) reason() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return reason(string(t.kept))
}

// reason finds, in what the binary wrote to standard error, the lines it wrote itself; libraries write there, too. It
// falls back on all of it, which is what a crash leaves. The result is one line.
func reason(stderr string) string {
	var own, all []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		all = append(all, line)
		if strings.HasPrefix(line, binaryName+": ") {
			own = append(own, line)
		}
	}
	if len(own) > 0 {
		return strings.Join(own, "; ")
	}
	return strings.Join(all, "; ")
}
