// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"net"
	"strconv"

	"github.com/wavetrain/wavetrain/sandbox/internal/datadir"
)

// listen opens the API server's port: the one asked for, else that of the last start, else a free one. A remembered
// port that somebody else took meanwhile is given up, because the control plane is worth more than its address.
func listen(dir *datadir.Dir, asked int) (net.Listener, error) {
	port := asked
	if port == 0 {
		remembered, err := dir.Port()
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
	if err := dir.RememberPort(listener.Addr().(*net.TCPAddr).Port); err != nil {
		_ = listener.Close()
		return nil, err
	}
	return listener, nil
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
