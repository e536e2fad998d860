// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Listen opens the API server's port on the loopback interface: the one asked for, else that of the last start, else a
// free one. A remembered port that somebody else took meanwhile is given up, because the control plane is worth more
// than its address.
func (d *Dir) Listen(asked int) (net.Listener, error) {
	port := asked
	if port == 0 {
		remembered, err := d.port()
		if err != nil {
			return nil, err
		}
		port = remembered
	}
	listener, err := net.Listen("tcp", address(port))
	if err != nil && asked == 0 {
		listener, err = net.Listen("tcp", address(0))
	}
	if err != nil {
		return nil, fmt.Errorf("listen for API requests: %w", err)
	}
	if err := d.rememberPort(listener.Addr().(*net.TCPAddr).Port); err != nil {
		_ = listener.Close()
		return nil, err
	}
	return listener, nil
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// port returns the port of the last start, 0 if there was none.
func (d *Dir) port() (int, error) {
	content, err := os.ReadFile(d.portFile())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read remembered port: %w", err)
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil || port < 1 || port > 65535 {
		return 0, fmt.Errorf("read remembered port: %s does not contain a port number; remove it", d.portFile())
	}
	return port, nil
}

func (d *Dir) rememberPort(port int) error {
	if err := os.WriteFile(d.portFile(), []byte(strconv.Itoa(port)+"\n"), 0o600); err != nil {
		return fmt.Errorf("remember port: %w", err)
	}
	return nil
}

func (d *Dir) portFile() string { return filepath.Join(d.path, "port") }
