// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Sandbox is a control plane that this process started. It ends with this process at the latest, however that ends:
// the sandbox reads a pipe whose other end only we hold.
type Sandbox struct {
	info Info
	cmd  *exec.Cmd

	// control serialises requests, which number their replies.
	control  sync.Mutex
	stdin    io.WriteCloser
	lines    chan []byte
	requests int

	stderr tail
	done   chan struct{}
	err    error
}

// Start runs a control plane and returns when it is ready. The context bounds the start only.
func Start(ctx context.Context, opts Options) (*Sandbox, error) {
	s, err := launch(opts)
	if err != nil {
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	if err := s.awaitReady(ctx, opts.Waiting); err != nil {
		return nil, errors.Join(fmt.Errorf("start sandbox: %w", err), s.Stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// launch starts the process.
func launch(opts Options) (*Sandbox, error) {
	if opts.Binary == "" {
		binary, err := FindBinary()
		if err != nil {
			return nil, err
		}
		opts.Binary = binary
	}
	s := &Sandbox{lines: make(chan []byte, 8), done: make(chan struct{})}
	s.cmd = exec.Command(opts.Binary, append(opts.arguments(), "--stop-with-parent")...)
	s.cmd.Stderr = &s.stderr
	// A Ctrl-C in the terminal is for us; we stop the sandbox when nobody needs it any more.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	s.stdin = stdin
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go s.follow(stdout)
	return s, nil
}

// follow passes on the lines the sandbox prints until it ends.
func (s *Sandbox) follow(stdout io.Reader) {
	defer close(s.done)
	scanner := bufio.NewScanner(stdout)
	for scanner.Scan() {
		s.lines <- append([]byte(nil), scanner.Bytes()...)
	}
	s.err = s.cmd.Wait()
	if said := s.stderr.reason(); s.err != nil && said != "" {
		s.err = errors.New(said)
	}
}

func (s *Sandbox) awaitReady(ctx context.Context, waiting func(time.Duration)) error {
	began := time.Now()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case line := <-s.lines:
			if err := json.Unmarshal(line, &s.info); err != nil {
				return fmt.Errorf("read what %s says: %w", filepath.Base(s.cmd.Path), err)
			}
			return nil
		case <-s.done:
			if s.err == nil {
				return errors.New("it stopped before it was ready")
			}
			return s.err
		case <-ticker.C:
			if waiting != nil {
				waiting(time.Since(began))
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Info says where the control plane can be reached.
func (s *Sandbox) Info() Info { return s.info }

// Kubeconfig is the path of the administrator's kubeconfig.
func (s *Sandbox) Kubeconfig() string { return s.info.Kubeconfig }

// RESTConfig returns the administrator's client configuration, without client-side rate limit.
func (s *Sandbox) RESTConfig() (*rest.Config, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", s.info.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig of sandbox: %w", err)
	}
	cfg.QPS, cfg.Burst = -1, -1
	return cfg, nil
}

// Done is closed when the sandbox has stopped, by Stop or by itself.
func (s *Sandbox) Done() <-chan struct{} { return s.done }

// Err says why the sandbox stopped; to be called after Done.
func (s *Sandbox) Err() error { return s.err }

// stopTimeout is how long a sandbox may take to stop before it is killed.
const stopTimeout = 45 * time.Second

// Stop stops the sandbox and waits for its end: politely at first, with force when the context ends or after
// stopTimeout. Stopping what has stopped is no error.
func (s *Sandbox) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop sandbox: %w", err)
	}
	for {
		select {
		case <-s.lines: // Nobody waits for these any more, but the process must be able to print them.
		case <-s.done:
			return nil
		case <-ctx.Done():
			if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return fmt.Errorf("kill sandbox: %w", err)
			}
			<-s.done
			return fmt.Errorf("stop sandbox: it did not stop in time and was killed; its data may miss the last writes")
		}
	}
}
