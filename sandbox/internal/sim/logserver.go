// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/wavetrain/wavetrain/sandbox/internal/sim/kubelet"
	"github.com/wavetrain/wavetrain/sandbox/internal/sim/rules"
)

// kubeletAddress is where the kubelets of all nodes answer.
const kubeletAddress = "127.0.0.1"

// logServer answers the API server as kubelets do, as far as `kubectl logs` goes.
type logServer struct {
	listener net.Listener
	server   *http.Server
}

// startLogs opens the server; stop closes it.
func (e *engine) startLogs() error {
	cert, err := selfSigned(time.Now())
	if err != nil {
		return fmt.Errorf("make a certificate for the kubelets: %w", err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(kubeletAddress, "0"))
	if err != nil {
		return fmt.Errorf("listen for the kubelets: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", e.serveLog)
	e.logs = &logServer{listener: listener, server: &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
	}}
	return nil
}

func (l *logServer) port() int32 {
	addr, ok := l.listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0
	}
	return int32(addr.Port) //nolint:gosec // a port fits
}

// serve runs until ctx ends.
func (l *logServer) serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = l.server.Close() }) // Serve says why it ended.
	defer stop()
	if err := l.server.ServeTLS(l.listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("answer for the kubelets: %w", err)
	}
	return nil
}

// selfSigned makes a certificate in memory. The API server does not look at those of kubelets.
func selfSigned(now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "simulated kubelet"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0), IPAddresses: []net.IP{net.ParseIP(kubeletAddress)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// serveLog writes the log of a container. There is no more of it to follow.
func (e *engine) serveLog(w http.ResponseWriter, r *http.Request) {
	pod, err := e.cache.pods.Pods(r.PathValue("namespace")).Get(r.PathValue("pod"))
	if err != nil {
		http.Error(w, fmt.Sprintf("pod %q not found", r.PathValue("pod")), http.StatusNotFound)
		return
	}
	effects, err := e.effectsOn(pod)
	if err != nil {
		effects = &rules.Rule{}
	}
	previous := r.URL.Query().Get("previous") == "true"
	text, err := kubelet.Log(pod, r.PathValue("container"), effects.Logs, previous)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	// The API server has gone if this fails; there is nobody left to tell.
	_, _ = io.WriteString(w, tail(text, r.URL.Query().Get("tailLines"))) //nolint:gosec // it is plain text, and no browser's
}

// tail is the end of a text, in lines; all of it if n is no number.
func tail(text, n string) string {
	count, err := strconv.Atoi(n)
	if err != nil || count < 0 {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return strings.Join(lines[max(0, len(lines)-count):], "")
}
