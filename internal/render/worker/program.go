// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Program is somebody else's program that is run with the limits of a worker.
type Program struct {
	Line   []string
	Dir    string
	Env    []string
	Limits Limits
	// Before is the command that limits processor time and becomes the program; it
	// gets the seconds and the program's line. Without it there is no such limit.
	Before []string
}

// Run runs a program and everything that it starts. It returns what was written to
// standard output, and the beginning of what was written to standard error.
func Run(ctx context.Context, p Program) (out []byte, words string, err error) {
	limits := p.Limits.WithDefaults()
	line := p.Line
	if len(p.Before) > 0 {
		line = append(append(append([]string{}, p.Before...), strconv.Itoa(int(max(limits.CPU/time.Second, 1)))), line...)
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.Env = p.Dir, p.Env
	stop := make(chan struct{})
	output := &bounded{limit: limits.Output, exceeded: make(chan struct{})}
	said := &beginning{}
	cmd.Stdout, cmd.Stderr = output, said
	cmd.WaitDelay = time.Second
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	killed := make(chan error, 1)
	go func() { killed <- watch(ctx, cmd.Process.Pid, limits, output.exceeded, stop) }()
	err = cmd.Wait()
	close(stop)
	// Children may have outlived it.
	killGroup(cmd.Process.Pid)
	if reason := <-killed; reason != nil {
		return nil, "", reason
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && endedByCPU(exit) {
		return nil, "", &LimitError{Limit: limitCPU, Max: limits.CPU.String()}
	}
	return output.data.Bytes(), said.all(), err
}

// watch kills a group of processes when it exceeds a limit, and says why.
func watch(ctx context.Context, pid int, limits Limits, tooLong, stop <-chan struct{}) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(limits.Wall)
	defer deadline.Stop()
	for {
		var reason error
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			reason = context.Cause(ctx)
		case <-deadline.C:
			reason = &LimitError{Limit: limitWall, Max: limits.Wall.String()}
		case <-tooLong:
			reason = &LimitError{Limit: limitOutput, Max: bytesText(limits.Output)}
		case <-tick.C:
			if residentGroup(pid) <= limits.Memory {
				continue
			}
			reason = &LimitError{Limit: limitMemory, Max: bytesText(limits.Memory)}
		}
		killGroup(pid)
		return reason
	}
}

// bounded keeps what is written to it, up to a limit.
type bounded struct {
	data     bytes.Buffer
	limit    int64
	exceeded chan struct{}
	over     bool
}

func (b *bounded) Write(data []byte) (int, error) {
	if b.over {
		return len(data), nil
	}
	if int64(b.data.Len()+len(data)) > b.limit {
		b.over = true
		close(b.exceeded)
		return len(data), nil
	}
	return b.data.Write(data)
}

// all is everything that was kept, on one line.
func (b *beginning) all() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(strings.Fields(b.text.String()), " ")
}
