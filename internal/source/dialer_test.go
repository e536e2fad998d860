// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"net"
	"strings"
	"testing"
)

// Where a server on a public address sends us cannot be tried with a real one here,
// so it is its address that is made up.
func TestGuardedDialer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	here := listener.Addr().String()
	_, port, err := net.SplitHostPort(here)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		reason, home, address, words string
	}{
		"home":                    {"somebody has configured it", here, here, ""},
		"home on another port":    {"charts beside their index", "127.0.0.1:1", here, ""},
		"private to private":      {"an installation without the internet", "127.0.0.2:1", here, ""},
		"public to private":       {"only we may reach it", "203.0.113.7:443", here, "is a private address"},
		"public to private name":  {"a name that leads there", "203.0.113.7", "localhost:" + port, "is a private address"},
		"private to link-local":   {"what clouds tell their machines", here, "169.254.169.254:80", "is a link-local address"},
		"public to private, IPv6": {"the same address in another notation", "203.0.113.7", "[::ffff:127.0.0.1]:" + port, "is a private address"},
		"nobody is at home":       {"value files from anywhere", "", here, "is a private address"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := guardedDialer{home: c.home}.dial(t.Context(), "tcp", c.address)
			if err == nil {
				_ = conn.Close()
			}
			if c.words == "" && err != nil || c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words)) {
				t.Errorf("%s: got error %v; want %q", c.reason, err, c.words)
			}
		})
	}
}
