// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// process is a running worker.
type process struct {
	cmd  *exec.Cmd
	pipe *stream
	// words is the beginning of what it wrote to standard error.
	words *beginning
	jobs  int
	// idle ends the process when nobody needs it for a while.
	idle *time.Timer
}

func start(command []string, limits Limits) (*process, error) {
	cmd := exec.Command(command[0], command[1:]...)
	// The collector works harder near its limit, and the environment of the
	// parent, where credentials are, stays there.
	// It does one thing at a time, so one processor is enough for it; collecting
	// garbage seldom is worth the memory.
	cmd.Env = []string{fmt.Sprintf("GOMEMLIMIT=%d", limits.Memory*3/4), "GOGC=500", "GOMAXPROCS=1"}
	cmd.Dir = "/"
	p := &process{cmd: cmd, words: &beginning{}}
	cmd.Stderr = p.words
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	// Room for the messages around the rendered objects.
	if p.pipe, err = newStream(out, in, limits.Output+(16<<20)); err != nil {
		return nil, err
	}
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start render worker: %w", err)
	}
	return p, nil
}

// end kills the process and waits for it.
func (p *process) end() {
	_ = p.cmd.Process.Kill() // it may have ended already
	_ = p.cmd.Wait()         // how it ended does not matter any more
}

// guard watches a job and kills the process when it exceeds a limit or nobody
// waits for it any more. The returned function ends the watch and says why the
// process was killed.
func (p *process) guard(ctx context.Context, limits Limits) func() error {
	stop, stopped := make(chan struct{}), make(chan struct{})
	var reason atomic.Pointer[error]
	kill := func(err error) {
		reason.Store(&err)
		_ = p.cmd.Process.Kill() // it may have ended already
	}
	go func() {
		defer close(stopped)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		deadline := time.NewTimer(limits.Wall)
		defer deadline.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ctx.Done():
				kill(context.Cause(ctx))
				return
			case <-deadline.C:
				kill(&LimitError{Limit: limitWall, Max: limits.Wall.String()})
				return
			case <-tick.C:
				if size, ok := resident(p.cmd.Process.Pid); ok && size > limits.Memory {
					kill(&LimitError{Limit: limitMemory, Max: bytesText(limits.Memory)})
					return
				}
			}
		}
	}()
	return func() error {
		close(stop)
		<-stopped
		if err := reason.Load(); err != nil {
			return *err
		}
		return nil
	}
}

// run has the worker do a job and answers its questions.
func (p *process) run(j *job, reply func(question) *answer) (*outcome, error) {
	if err := p.pipe.send(toWorker{Job: j}); err != nil {
		return nil, err
	}
	for {
		var message toParent
		if err := p.pipe.receive(&message); err != nil {
			return nil, err
		}
		switch {
		case message.Outcome != nil:
			return message.Outcome, nil
		case message.Question != nil:
			if err := p.pipe.send(toWorker{Answer: reply(*message.Question)}); err != nil {
				return nil, err
			}
		default:
			return nil, errors.New("render worker sent an empty message")
		}
	}
}

// maxWords bounds what is kept of a worker's last words.
const maxWords = 4 << 10

// beginning keeps the first bytes that are written to it.
type beginning struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *beginning) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if room := maxWords - b.text.Len(); room > 0 {
		b.text.Write(data[:min(room, len(data))])
	}
	return len(data), nil
}

func (b *beginning) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	first, _, _ := strings.Cut(strings.TrimSpace(b.text.String()), "\n")
	return first
}
