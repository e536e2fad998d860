// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/source"
)

// joined carries what two connections say to each other; some of what the first says
// may have been read already.
func joined(a net.Conn, said io.Reader, b net.Conn) {
	done := make(chan struct{}, 2)
	carry := func(to net.Conn, from io.Reader) {
		_, _ = io.Copy(to, from)
		done <- struct{}{}
	}
	go carry(a, b)
	go carry(b, said)
	<-done
	_, _ = a.Close(), b.Close()
	<-done
}

// tunnels is an HTTP proxy that wants a login and knows one host more than others.
func tunnels(t *testing.T, there string, through *atomic.Int64) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Proxy-Authorization") != basic("me", password):
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		case r.Method != http.MethodConnect || !strings.HasPrefix(r.Host, "git.invalid:"):
			w.WriteHeader(http.StatusForbidden)
			return
		}
		far, err := net.Dial("tcp", there)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		through.Add(1)
		w.WriteHeader(http.StatusOK)
		near, said, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		joined(near, said, far)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// socks is a SOCKS5 proxy without a login.
func socks(t *testing.T, there string, through *atomic.Int64) string {
	t.Helper()
	return strings.Replace(strings.TrimSuffix(raw(t, func(near net.Conn) {
		defer func() { _ = near.Close() }()
		head := make([]byte, 2)
		if _, err := io.ReadFull(near, head); err != nil || head[0] != 5 {
			return
		}
		if _, err := io.CopyN(io.Discard, near, int64(head[1])); err != nil {
			return
		}
		_, _ = near.Write([]byte{5, 0})
		// Version, command, reserved, a name follows, its length.
		request := make([]byte, 5)
		if _, err := io.ReadFull(near, request); err != nil || request[1] != 1 || request[3] != 3 {
			return
		}
		name := make([]byte, int(request[4])+2)
		if _, err := io.ReadFull(near, name); err != nil || !strings.HasPrefix(string(name), "git.invalid") {
			return
		}
		far, err := net.Dial("tcp", there)
		if err != nil {
			return
		}
		through.Add(1)
		_, _ = near.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		joined(near, near, far)
	}), "/repo.git"), "http://", "socks5://", 1)
}

func TestSSHThroughAProxy(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	key := gittest.NewSSHKey(t)
	direct, known := repo.ServeSSH(key)
	there, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	// A name that only the proxy can do something with. The key is expected of that name.
	address := strings.Replace(direct, "127.0.0.1", "git.invalid", 1)
	hosts := strings.Replace(known, "127.0.0.1", "git.invalid", 1)
	var through atomic.Int64
	tunnel := strings.Replace(tunnels(t, there.Host, &through), "http://", "http://"+url.UserPassword("me", password).String()+"@", 1)
	with := func(proxy, hosts string) source.Repository {
		return source.Repository{URL: address, Known: true, Credentials: source.Credentials{SSHKey: key.Private, KnownHosts: &hosts, Proxy: proxy}}
	}
	for name, proxy := range map[string]string{"http": tunnel, "socks": socks(t, there.Host, &through)} {
		before := through.Load()
		readsX(t, newStore(t, source.Options{}), with(proxy, hosts), "1")
		if through.Load() == before {
			t.Errorf("%s: the proxy was not used", name)
		}
	}
	refused(t, newStore(t, source.Options{}), with(tunnel, known), source.Untrusted, address, "host key is not known")
	refused(t, newStore(t, source.Options{}), with(strings.Replace(tunnel, "me:", "you:", 1), hosts), source.Unavailable, address, "the proxy 127.0.0.1", "answers 407")
	refused(t, newStore(t, source.Options{}), with("http://127.0.0.1:1", hosts), source.Unavailable, address, "the proxy 127.0.0.1:1")
	refused(t, newStore(t, source.Options{}), with("ftp://127.0.0.1:1", hosts), source.Unavailable, address, `its scheme "ftp"`)
	before := through.Load()
	spared := source.Repository{URL: direct, Credentials: source.Credentials{SSHKey: key.Private, KnownHosts: &known, Proxy: tunnel, NoProxy: "127.0.0.1"}}
	readsX(t, newStore(t, source.Options{}), spared, "1")
	if through.Load() != before {
		t.Error("the proxy was used for a host that noProxy lists")
	}
}
