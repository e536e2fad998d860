// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/proxy"
)

// relay is a port of this machine that leads to one server through a proxy, for ssh,
// which knows of none. It lives as long as one command.
type relay struct {
	proxy    *url.URL
	target   string
	listener net.Listener
	end      context.CancelFunc
	running  sync.WaitGroup

	mu  sync.Mutex
	err error
}

// sshTarget is host and port of a URL that ssh reaches.
func sshTarget(address string) (host, port string) {
	host = Host(address)
	if name, given, err := net.SplitHostPort(host); err == nil {
		return name, given
	}
	return strings.Trim(host, "[]"), "22"
}

// relayFor returns a relay to the server of a URL, nil if no proxy is to be used.
func relayFor(creds Credentials, address string) (*relay, error) {
	if creds.Proxy == "" {
		return nil, nil
	}
	host, port := sshTarget(address)
	target := net.JoinHostPort(host, port)
	conf := httpproxy.Config{HTTPSProxy: creds.Proxy, NoProxy: creds.NoProxy}
	through, err := conf.ProxyFunc()(&url.URL{Scheme: "https", Host: target})
	if err != nil || through == nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("reach the proxy of %s: %w", host, err)
	}
	ctx, end := context.WithCancel(context.Background())
	r := &relay{proxy: through, target: target, listener: listener, end: end}
	r.running.Go(func() { r.serve(ctx) })
	return r, nil
}

// options have ssh connect to the relay, and expect the key of the server all the
// same.
func (r *relay) options() []string {
	host, port, _ := net.SplitHostPort(r.target) // it was joined
	alias := host
	if port != "22" {
		alias = "[" + host + "]:" + port
	}
	_, here, _ := net.SplitHostPort(r.listener.Addr().String()) // it is one of TCP
	return []string{"-o", "HostName=127.0.0.1", "-o", "Port=" + here, "-o", quoteShell("HostKeyAlias=" + alias), "-o", "CheckHostIP=no"}
}

func (r *relay) serve(ctx context.Context) {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.running.Go(func() {
			if err := r.forward(ctx, conn); err != nil {
				r.mu.Lock()
				r.err = err
				r.mu.Unlock()
			}
		})
	}
}

// trouble is what the proxy has said.
func (r *relay) trouble() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *relay) close() error {
	r.end()
	err := r.listener.Close()
	r.running.Wait()
	return err
}

// forward carries one connection; an error says that there is no way through.
func (r *relay) forward(ctx context.Context, near net.Conn) error {
	defer func() { _ = near.Close() }()
	dial, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	far, reader, err := r.dial(dial)
	if err != nil {
		return err
	}
	defer func() { _ = far.Close() }()
	stop := context.AfterFunc(ctx, func() { _, _ = near.Close(), far.Close() })
	defer stop()
	done := make(chan struct{}, 2)
	carry := func(to net.Conn, from io.Reader) {
		// How a connection ends is for ssh to say.
		_, _ = io.Copy(to, from)
		done <- struct{}{}
	}
	go carry(far, near)
	go carry(near, reader)
	<-done
	_, _ = near.Close(), far.Close()
	<-done
	return nil
}

// dial connects to the target through the proxy.
func (r *relay) dial(ctx context.Context) (net.Conn, io.Reader, error) {
	switch r.proxy.Scheme {
	case "socks5", "socks5h":
		var auth *proxy.Auth
		if r.proxy.User != nil {
			password, _ := r.proxy.User.Password()
			auth = &proxy.Auth{User: r.proxy.User.Username(), Password: password}
		}
		dialer, err := proxy.SOCKS5("tcp", r.proxy.Host, auth, &net.Dialer{})
		if err != nil {
			return nil, nil, err
		}
		if with, ok := dialer.(proxy.ContextDialer); ok {
			conn, err := with.DialContext(ctx, "tcp", r.target)
			return conn, conn, err
		}
		return nil, nil, errors.New("it cannot be given up")
	case "http", "https":
		return r.connect(ctx)
	}
	return nil, nil, fmt.Errorf("its scheme %q is none of http, https and socks5", r.proxy.Scheme)
}

// connect asks an HTTP proxy for a tunnel.
func (r *relay) connect(ctx context.Context) (net.Conn, io.Reader, error) {
	at := r.proxy.Host
	if r.proxy.Port() == "" {
		at = net.JoinHostPort(r.proxy.Hostname(), map[string]string{"http": "80", "https": "443"}[r.proxy.Scheme])
	}
	var dialer interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = &net.Dialer{}
	if r.proxy.Scheme == "https" {
		dialer = &tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12}}
	}
	conn, err := dialer.DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: r.target}, Host: r.target, Header: http.Header{}}
	if user := r.proxy.User; user != nil {
		password, _ := user.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	reader := bufio.NewReader(conn)
	err = req.Write(conn)
	if err == nil {
		var res *http.Response
		// What follows the head of the answer is the tunnel.
		if res, err = http.ReadResponse(reader, req); err == nil && res.StatusCode != http.StatusOK { //nolint:bodyclose // closing would read the tunnel
			err = fmt.Errorf("it answers %s", res.Status)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return conn, reader, nil
}
