// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// State is what a named control plane does at the moment.
type State string

// States of a named control plane.
const (
	StateRunning  State = "Running"
	StateStarting State = "Starting"
	StateStopped  State = "Stopped"
)

// ErrNotFound says that there is no control plane of a name.
var ErrNotFound = errors.New("no such sandbox")

// Status describes a named control plane. What is known only of a running one is empty otherwise.
type Status struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	Info
	// StartedAt is when it became ready.
	StartedAt *time.Time `json:"startedAt,omitempty"`
}

// Instances are named control planes. Each is a detached process with a data directory of its own, which is kept when
// it is stopped.
type Instances struct {
	// Dir holds a directory for each name.
	Dir string
}

const (
	readyFile = "ready.json"
	startLog  = "start.log"
	// lookAgain is how often a process that is not our child is looked at.
	lookAgain = 50 * time.Millisecond
)

// CheckName returns an error for a name a control plane cannot have.
func CheckName(name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Errorf("sandbox name %q: use lower case letters, digits and '-', at most 63", name)
	}
	return nil
}

func (in Instances) dir(name string) string { return filepath.Join(in.Dir, name) }

// List returns all control planes there are, sorted by name.
func (in Instances) List() ([]Status, error) {
	entries, err := os.ReadDir(in.Dir) // sorted
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list sandboxes: %w", err)
	}
	var list []Status
	for _, entry := range entries {
		if !entry.IsDir() || CheckName(entry.Name()) != nil {
			continue
		}
		status, err := in.Status(entry.Name())
		if err != nil {
			return nil, err
		}
		list = append(list, status)
	}
	return list, nil
}

// Status describes one control plane; ErrNotFound if it was never started, or deleted.
func (in Instances) Status(name string) (Status, error) {
	if err := CheckName(name); err != nil {
		return Status{}, err
	}
	dir := in.dir(name)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return Status{}, fmt.Errorf("sandbox %q: %w", name, ErrNotFound)
	}
	status := Status{Name: name, State: StateStopped, Info: Info{DataDir: dir}}
	pid, err := holder(dir)
	if err != nil {
		return Status{}, fmt.Errorf("sandbox %q: %w", name, err)
	}
	if pid == 0 {
		return status, nil
	}
	status.State, status.PID = StateStarting, pid
	file := filepath.Join(dir, readyFile)
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return status, nil
	}
	if err != nil {
		return Status{}, fmt.Errorf("sandbox %q: %w", name, err)
	}
	var info Info
	if err := json.Unmarshal(content, &info); err != nil {
		return Status{}, fmt.Errorf("sandbox %q: read %s: %w", name, file, err)
	}
	if info.PID != pid {
		return status, nil // It was left by a process that was killed; the present one is not ready yet.
	}
	status.State, status.Info = StateRunning, info
	if stat, err := os.Stat(file); err == nil {
		at := stat.ModTime()
		status.StartedAt = &at
	}
	return status, nil
}

// Down stops a control plane and keeps its data. It reports whether there was something to stop.
func (in Instances) Down(ctx context.Context, name string) (bool, error) {
	status, err := in.Status(name)
	if err != nil {
		return false, err
	}
	if status.State == StateStopped {
		return false, nil
	}
	if err := signalProcess(status.PID, syscall.SIGTERM); err != nil {
		return false, fmt.Errorf("stop sandbox %q: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := in.awaitStop(ctx, name, status.PID); err == nil {
		return true, nil
	}
	if err := signalProcess(status.PID, syscall.SIGKILL); err != nil {
		return false, fmt.Errorf("kill sandbox %q: %w", name, err)
	}
	return true, fmt.Errorf("stop sandbox %q: it did not stop in time and was killed; its data may miss the last writes", name)
}

// Delete stops a control plane and removes its data.
func (in Instances) Delete(ctx context.Context, name string) error {
	if _, err := in.Down(ctx, name); err != nil {
		return err
	}
	if err := os.RemoveAll(in.dir(name)); err != nil {
		return fmt.Errorf("delete sandbox %q: %w", name, err)
	}
	return nil
}

// awaitStop waits until the process no longer holds the data directory.
func (in Instances) awaitStop(ctx context.Context, name string, pid int) error {
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		now, err := holder(in.dir(name))
		if err != nil {
			return err
		}
		if now != pid {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func signalProcess(pid int, signal os.Signal) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if err := process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
