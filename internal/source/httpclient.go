// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// maxRedirects bounds how often a server may send us elsewhere.
const maxRedirects = 10

// httpClient speaks to the server of base with the credentials' certificates and
// proxy; logins are the caller's matter. Where a server sends us to another host,
// that host must be as public as the server is: a repository must not make us ask
// what only we can reach.
func (s *Store) httpClient(creds Credentials, base string) (*http.Client, error) {
	transport, err := s.transport(creds, base)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: attentive{transport, s.pauses}, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) >= maxRedirects {
			return errors.New("too many redirects")
		}
		if via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
			return fmt.Errorf("the server redirects from https to %s://%s", req.URL.Scheme, req.URL.Host)
		}
		return nil
	}}, nil
}

// transport is kept while the credentials are the same, for its connections.
func (s *Store) transport(creds Credentials, base string) (*http.Transport, error) {
	digest, err := creds.digest()
	if err != nil {
		return nil, err
	}
	key := Host(base) + " " + digest
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.transports[key]; ok {
		return t, nil
	}
	t, err := newTransport(creds, base, s.opts)
	if err != nil {
		return nil, err
	}
	s.transports[key] = t
	return t, nil
}

func newTransport(creds Credentials, base string, opts Options) (*http.Transport, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: creds.Insecure} //nolint:gosec // only where the repository's Secret says so
	if creds.Authorities != "" {
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM([]byte(creds.Authorities)) {
			return nil, fmt.Errorf("argocd-tls-certs-cm has no PEM certificate for %s", Host(base))
		}
	}
	if creds.ClientCertificate != "" {
		pair, err := tls.X509KeyPair([]byte(creds.ClientCertificate), []byte(creds.ClientKey))
		if err != nil {
			return nil, fmt.Errorf("client certificate for %s: %w", Host(base), err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	proxy := proxyOf(creds, opts.Env)
	dialer := guardedDialer{home: Host(base), viaProxy: proxy.HTTPProxy != "" || proxy.HTTPSProxy != ""}
	choose := proxy.ProxyFunc()
	return &http.Transport{
		TLSClientConfig: conf, DialContext: dialer.dial, ForceAttemptHTTP2: true,
		Proxy:               func(r *http.Request) (*url.URL, error) { return choose(r.URL) },
		TLSHandshakeTimeout: 15 * time.Second, ResponseHeaderTimeout: 60 * time.Second,
		IdleConnTimeout: 30 * time.Second, MaxIdleConnsPerHost: 8,
	}, nil
}

// proxyOf is the proxy of the repository, or else the one of the environment.
func proxyOf(creds Credentials, env []string) *httpproxy.Config {
	if creds.Proxy != "" {
		return &httpproxy.Config{HTTPProxy: creds.Proxy, HTTPSProxy: creds.Proxy, NoProxy: creds.NoProxy}
	}
	conf := &httpproxy.Config{}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		switch strings.ToLower(name) {
		case "http_proxy":
			conf.HTTPProxy = value
		case "https_proxy":
			conf.HTTPSProxy = value
		case "no_proxy":
			conf.NoProxy = value
		}
	}
	return conf
}

// guardedDialer connects to the host that somebody configured, and to others if
// they are no less public.
type guardedDialer struct {
	home     string
	viaProxy bool
}

func (g guardedDialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
	if !g.viaProxy && !g.isHome(address) {
		homePrivate := g.homeIsPrivate(ctx)
		dialer.Control = func(_, resolved string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(resolved)
			if err != nil {
				return err
			}
			switch addr := at.Addr().Unmap(); {
			case addr.IsLinkLocalUnicast():
				return &privateAddressError{address, "a link-local address, where no repository is"}
			case !homePrivate && isPrivate(addr):
				return &privateAddressError{address, "a private address, and the repository itself is not on one"}
			}
			return nil
		}
	}
	return dialer.DialContext(ctx, network, address)
}

func (g guardedDialer) isHome(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	return strings.EqualFold(address, g.home) || strings.EqualFold(host, g.home)
}

func (g guardedDialer) homeIsPrivate(ctx context.Context) bool {
	host := g.home
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return false
	}
	for _, addr := range addrs {
		if isPrivate(addr.Unmap()) {
			return true
		}
	}
	return false
}

func isPrivate(a netip.Addr) bool {
	return a.IsPrivate() || a.IsLoopback() || a.IsUnspecified() || a.IsLinkLocalUnicast()
}

// privateAddressError is the refusal to follow a public server into a network
// that only we can reach.
type privateAddressError struct{ host, is string }

func (e *privateAddressError) Error() string { return e.host + " is " + e.is }

// reasonOfStatus classifies an HTTP status.
func reasonOfStatus(code int) Reason {
	switch {
	case code == http.StatusUnauthorized:
		return Unauthenticated
	case code == http.StatusForbidden:
		return Forbidden
	case code == http.StatusNotFound || code == http.StatusGone:
		return NotFound
	case code == http.StatusTooManyRequests:
		return RateLimited
	case code >= 500:
		return Unavailable
	default:
		return Other
	}
}

// httpTrouble is why a request got no answer, or not to its end, without the URL,
// which the caller names.
func httpTrouble(ctx context.Context, err error) (Reason, string) {
	if forbidden, ok := errors.AsType[*privateAddressError](err); ok {
		return Other, forbidden.Error()
	}
	if silent, ok := errors.AsType[*noAnswerError](context.Cause(ctx)); ok {
		return Unavailable, silent.Error()
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return Untrusted, "the server's certificate is not trusted (" + lastPart(err) + ")"
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok || strings.Contains(err.Error(), "remote error: tls: ") {
		return Unauthenticated, "the server refuses the TLS connection (" + lastPart(err) + "), as it does without the right client certificate"
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return Unavailable, "the host cannot be found"
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return Unavailable, "the server refuses the connection"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return Unavailable, "the server breaks the connection"
	}
	return Unavailable, err.Error()
}

// lastPart is what an error says in the end.
func lastPart(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[i+2:]
	}
	return text
}
