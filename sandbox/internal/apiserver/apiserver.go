// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package apiserver runs upstream's kube-apiserver inside the process: the real server with its admission, RBAC, CRDs
// and aggregation, configured for one machine. It decides on flags only; what a cluster contains is not its business.
package apiserver

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/wavetrain/wavetrain/sandbox/internal/pki"
	"github.com/wavetrain/wavetrain/sandbox/internal/version"
)

// ServiceCIDR is the range of cluster addresses.
const ServiceCIDR = "10.96.0.0/16"

// ServiceIP is the cluster address of the Service "kubernetes": the first of the range.
func ServiceIP() net.IP { return net.IPv4(10, 96, 0, 1) }

// Options say with what the API server works.
type Options struct {
	// Listener accepts the clients' connections; the server closes it.
	Listener net.Listener
	// Etcd is the endpoint of the database.
	Etcd string
	// PKI holds the server's keys and certificates.
	PKI *pki.PKI
	// Dir receives small files the server reads, such as the audit policy.
	Dir string
	// AuditLog is a file that receives one line for each request. Defaults to none.
	AuditLog string
}

// Server is a running API server.
type Server struct {
	done chan struct{}
	err  error
}

// Start runs the API server until the context ends. It returns before the server is ready: see WaitReady.
func Start(ctx context.Context, opts Options) (*Server, error) {
	if opts.AuditLog != "" {
		if err := os.WriteFile(opts.auditPolicy(), []byte(auditPolicy), 0o600); err != nil {
			return nil, fmt.Errorf("write audit policy: %w", err)
		}
	}
	completed, err := complete(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("configure API server: %w", err)
	}
	s := &Server{done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.err = app.Run(ctx, completed)
	}()
	return s, nil
}

// complete turns our options into upstream's, by way of its flags: they are the documented interface.
func complete(ctx context.Context, opts Options) (options.CompletedOptions, error) {
	upstream := options.NewServerRunOptions()
	registry, err := version.Registry()
	if err != nil {
		return options.CompletedOptions{}, err
	}
	upstream.GenericServerRunOptions.ComponentGlobalsRegistry = registry
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	named := upstream.Flags()
	for _, set := range named.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(opts.flags()); err != nil {
		return options.CompletedOptions{}, err
	}
	upstream.SecureServing.Listener = opts.Listener
	upstream.SecureServing.BindPort = opts.Listener.Addr().(*net.TCPAddr).Port

	if err := registry.Set(); err != nil {
		return options.CompletedOptions{}, err
	}
	completed, err := upstream.Complete(ctx)
	if err != nil {
		return options.CompletedOptions{}, err
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return options.CompletedOptions{}, utilerrors.NewAggregate(errs)
	}
	return completed, nil
}

func (o Options) flags() []string {
	flags := []string{
		"--etcd-servers=" + o.Etcd,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		// Endpoints on a loopback address are invalid, so nobody may write those of the Service "kubernetes".
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + ServiceCIDR,
		"--authorization-mode=RBAC",
		"--allow-privileged=true",
		"--profiling=false",
		// Ends the watches of clients when it stops; without it the server waits a minute for them to go.
		"--shutdown-watch-termination-grace-period=1s",

		"--tls-cert-file=" + o.PKI.Serving.Cert,
		"--tls-private-key-file=" + o.PKI.Serving.Key,
		"--client-ca-file=" + o.PKI.CA.Cert,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + o.PKI.ServiceAccountKey,
		"--service-account-signing-key-file=" + o.PKI.ServiceAccountKey,

		"--proxy-client-cert-file=" + o.PKI.FrontProxy.Cert,
		"--proxy-client-key-file=" + o.PKI.FrontProxy.Key,
		"--requestheader-client-ca-file=" + o.PKI.FrontProxyCA.Cert,
		"--requestheader-allowed-names=" + pki.FrontProxyName,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
	}
	if o.AuditLog != "" {
		flags = append(flags, "--audit-log-path="+o.AuditLog, "--audit-policy-file="+o.auditPolicy())
	}
	return flags
}

// auditPolicy records who did what to which object and when, once per request, when it is answered. Contents are left
// out: they would make the log large and hold secrets.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

func (o Options) auditPolicy() string { return filepath.Join(o.Dir, "audit-policy.yaml") }

// readyPoll is how often a server that comes up is asked.
const readyPoll = 50 * time.Millisecond

// WaitReady returns when the server answers that it is ready, which includes the objects it makes itself (system
// namespaces, RBAC's default roles, priority classes).
func (s *Server) WaitReady(ctx context.Context, cfg *rest.Config) error {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for {
		err := client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-s.done:
			return fmt.Errorf("API server stopped: %w", s.Err())
		case <-ctx.Done():
			return fmt.Errorf("wait for API server: %w (last answer: %w)", context.Cause(ctx), err)
		}
	}
}

// Done is closed when the server has stopped.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err says why the server stopped; to be called after Done.
func (s *Server) Err() error { return s.err }
