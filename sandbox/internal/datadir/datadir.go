// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package datadir is the directory of one control plane: what lies where, who may use it, and which port it had. It
// knows nothing of what the files contain, except the remembered port.
package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// maxSocketPath is the longest path every supported system accepts for a Unix socket, terminating zero included.
const maxSocketPath = 104

// Dir is a data directory that this process has locked.
type Dir struct {
	path      string
	temporary bool
	lock      *os.File
	// sockets is where Unix sockets are made: the directory itself, or a short one beside it.
	sockets string
}

// Open creates the directory if needed and locks it. An empty path makes a temporary one that Close removes.
func Open(path string) (*Dir, error) {
	d := &Dir{path: path}
	if path == "" {
		tmp, err := os.MkdirTemp("", "wavetrain-sandbox-")
		if err != nil {
			return nil, fmt.Errorf("create temporary data directory: %w", err)
		}
		d.path, d.temporary = tmp, true
	}
	abs, err := filepath.Abs(d.path)
	if err != nil {
		return nil, fmt.Errorf("resolve data directory %s: %w", d.path, err)
	}
	d.path = abs
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return nil, fmt.Errorf("create data directory: %w", err)
	}
	if err := d.acquire(); err != nil {
		return nil, err
	}
	d.sockets = d.path
	if len(filepath.Join(d.path, etcdSocket)) >= maxSocketPath {
		if d.sockets, err = os.MkdirTemp("", "wts-"); err != nil {
			return nil, errors.Join(fmt.Errorf("create directory for sockets: %w", err), d.Close())
		}
	}
	return d, nil
}

// acquire takes the lock. It is a POSIX record lock: it cannot outlive a process that was killed, and whoever wants to
// know whether this control plane runs can ask the kernel which process holds it.
func (d *Dir) acquire() error {
	file, err := os.OpenFile(filepath.Join(d.path, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("lock data directory: %w", err)
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK}
	if err := syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &lock); err != nil {
		_ = syscall.FcntlFlock(file.Fd(), syscall.F_GETLK, &lock) // Without a holder the message names process 0.
		_ = file.Close()
		return fmt.Errorf("lock data directory %s: in use by process %d; stop it or choose another --data-dir", d.path, lock.Pid)
	}
	d.lock = file
	return nil
}

// Close unlocks the directory and removes what was temporary.
func (d *Dir) Close() error {
	var errs []error
	if d.sockets != "" && d.sockets != d.path {
		errs = append(errs, os.RemoveAll(d.sockets))
	}
	if d.temporary {
		errs = append(errs, os.RemoveAll(d.path))
	}
	return errors.Join(append(errs, d.lock.Close())...)
}

const etcdSocket = "etcd.sock"

// Path is the directory itself.
func (d *Dir) Path() string { return d.path }

// Temporary says whether the data is thrown away at the end.
func (d *Dir) Temporary() bool { return d.temporary }

// PKI is the directory of keys and certificates.
func (d *Dir) PKI() string { return filepath.Join(d.path, "pki") }

// Etcd is the directory of the database.
func (d *Dir) Etcd() string { return filepath.Join(d.path, "etcd") }

// EtcdSocket is the Unix socket on which the database listens.
func (d *Dir) EtcdSocket() string { return filepath.Join(d.sockets, etcdSocket) }

// Kubeconfig is the administrator's kubeconfig.
func (d *Dir) Kubeconfig() string { return filepath.Join(d.path, "kubeconfig") }

// ControllersKubeconfig is the kubeconfig of the upstream controllers.
func (d *Dir) ControllersKubeconfig() string {
	return filepath.Join(d.path, "pki", "controllers.kubeconfig")
}

// Rules is the file of rules that is read when no other is named.
func (d *Dir) Rules() string { return filepath.Join(d.path, "rules.yaml") }

// EtcdLog is the database's log.
func (d *Dir) EtcdLog() string { return filepath.Join(d.path, "etcd.log") }

// Log is the log of everything else.
func (d *Dir) Log() string { return filepath.Join(d.path, "sandbox.log") }
