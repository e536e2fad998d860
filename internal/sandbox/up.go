// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Up starts a named control plane, detached from this process, and returns when it is ready. Options that are not given
// are those of its last start. One that runs already is left as it is, whatever the options say; the second result tells
// them apart.
func (in Instances) Up(ctx context.Context, name string, opts Options) (Status, bool, error) {
	if err := CheckName(name); err != nil {
		return Status{}, false, err
	}
	status, err := in.Status(name)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Status{}, false, err
	}
	switch status.State {
	case StateRunning:
		return status, false, nil
	case StateStarting:
		return Status{}, false, fmt.Errorf("start sandbox %q: process %d is starting it already", name, status.PID)
	}
	if err := in.launch(ctx, name, opts); err != nil {
		return Status{}, false, fmt.Errorf("start sandbox %q: %w", name, err)
	}
	status, err = in.Status(name)
	return status, true, err
}

// Attach returns opts for a control plane that Start runs for as long as this process lives, with the data of a name. It
// shows under its name while it runs.
func (in Instances) Attach(name string, opts Options) (Options, error) {
	status, err := in.Status(name)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Options{}, err
	}
	if status.PID != 0 {
		return Options{}, fmt.Errorf("sandbox %q runs already, as process %d: `wavetrain sandbox down %s` stops it", name, status.PID, name)
	}
	dir := in.dir(name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Options{}, err
	}
	opts.DataDir, opts.ReadyFile = dir, filepath.Join(dir, readyFile)
	return opts, nil
}

// launch starts the process in a session of its own, so that it survives this one and its terminal, and waits until it
// says that it is ready.
func (in Instances) launch(ctx context.Context, name string, opts Options) error {
	binary := opts.Binary
	if binary == "" {
		found, err := FindBinary()
		if err != nil {
			return err
		}
		binary = found
	}
	dir := in.dir(name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	opts, err := opts.recall(dir)
	if err != nil {
		return err
	}
	opts.DataDir, opts.ReadyFile = dir, filepath.Join(dir, readyFile)
	log, err := os.OpenFile(filepath.Join(dir, startLog), os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // The process has its own; ours is only read.

	cmd := exec.Command(binary, opts.arguments()...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stderr = log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := awaitFirstLine(ctx, cmd, stdout, log, opts.Waiting); err != nil {
		return err
	}
	// Only options that work are worth keeping.
	return opts.remember(dir)
}

// awaitFirstLine waits for the line that says that the process is ready. When the process ends first, what it wrote to
// its log says why; when the context ends first, the process is stopped.
func awaitFirstLine(ctx context.Context, cmd *exec.Cmd, stdout io.Reader, log *os.File, waiting func(time.Duration)) error {
	ready := make(chan bool, 1)
	go func() { ready <- bufio.NewScanner(stdout).Scan() }()
	began := time.Now()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case ok := <-ready:
			if ok {
				return cmd.Process.Release()
			}
			err := cmd.Wait()
			if said := readReason(log); said != "" {
				return errors.New(said)
			}
			return fmt.Errorf("it stopped before it was ready: %w", err)
		case <-ticker.C:
			if waiting != nil {
				waiting(time.Since(began))
			}
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), cmd.Process.Signal(syscall.SIGTERM), cmd.Wait())
		}
	}
}

func readReason(log *os.File) string {
	if _, err := log.Seek(0, io.SeekStart); err != nil {
		return ""
	}
	content, err := io.ReadAll(io.LimitReader(log, tailSize))
	if err != nil {
		return ""
	}
	return reason(string(content))
}
