// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package metricsapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"github.com/wavetrain/wavetrain/sandbox/internal/pki"
)

const (
	serviceNamespace = metav1.NamespaceSystem
	serviceName      = "metrics-server"
	apiServiceName   = "v1beta1.metrics.k8s.io"
)

// Server answers the aggregator.
type Server struct {
	http *http.Server
	port int32
	ca   []byte
	done chan error
}

// Start serves on a free port of the loopback interface. Only the aggregator's certificate is admitted, so the API
// server's authorization cannot be walked around.
func Start(source Source, keys *pki.PKI) (*Server, error) {
	cert, err := tls.LoadX509KeyPair(keys.Metrics.Cert, keys.Metrics.Key)
	if err != nil {
		return nil, fmt.Errorf("load certificate of the metrics API: %w", err)
	}
	ca, err := os.ReadFile(keys.CA.Cert)
	if err != nil {
		return nil, fmt.Errorf("load certificate authority: %w", err)
	}
	proxyCA, err := os.ReadFile(keys.FrontProxyCA.Cert)
	if err != nil {
		return nil, fmt.Errorf("load certificate authority of the aggregator: %w", err)
	}
	callers := x509.NewCertPool()
	callers.AppendCertsFromPEM(proxyCA)

	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{cert},
		ClientCAs:    callers,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"h2", "http/1.1"},
	})
	if err != nil {
		return nil, fmt.Errorf("listen for the metrics API: %w", err)
	}
	s := &Server{
		http: &http.Server{
			Handler:           handler(source),
			ReadHeaderTimeout: 10 * time.Second,
			// Probes without a certificate are refused; that is no news.
			ErrorLog: log.New(io.Discard, "", 0),
		},
		port: int32(listener.Addr().(*net.TCPAddr).Port), //nolint:gosec // A port fits.
		ca:   ca,
		done: make(chan error, 1),
	}
	go func() { s.done <- s.http.Serve(listener) }()
	return s, nil
}

// Register tells the aggregator where the API is and returns when it is served. The Service is of type ExternalName
// because the aggregator refuses Endpoints on a loopback address; the port is that of this start.
func (s *Server) Register(ctx context.Context, cfg *rest.Config) error {
	core, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	registry, err := aggregator.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	if err := s.ensureService(ctx, core); err != nil {
		return fmt.Errorf("register metrics API: %w", err)
	}
	if err := s.ensureAPIService(ctx, registry); err != nil {
		return fmt.Errorf("register metrics API: %w", err)
	}
	return waitAvailable(ctx, registry)
}

func (s *Server) ensureService(ctx context.Context, core kubernetes.Interface) error {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: serviceNamespace, Name: serviceName},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}
	_, err := core.CoreV1().Services(serviceNamespace).Create(ctx, service, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (s *Server) ensureAPIService(ctx context.Context, registry aggregator.Interface) error {
	want := &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: apiServiceName},
		Spec: apiregistrationv1.APIServiceSpec{
			Service:              &apiregistrationv1.ServiceReference{Namespace: serviceNamespace, Name: serviceName, Port: &s.port},
			Group:                groupVersion().Group,
			Version:              groupVersion().Version,
			CABundle:             s.ca,
			GroupPriorityMinimum: 100,
			VersionPriority:      100,
		},
	}
	services := registry.ApiregistrationV1().APIServices()
	_, err := services.Create(ctx, want, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	have, err := services.Get(ctx, apiServiceName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	have.Spec = want.Spec
	_, err = services.Update(ctx, have, metav1.UpdateOptions{})
	return err
}

// waitAvailable returns when the aggregator has reached the API: until then discovery of the whole cluster is
// incomplete, and namespaces cannot be deleted.
func waitAvailable(ctx context.Context, registry aggregator.Interface) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	last := "not looked at yet"
	for {
		found, err := registry.ApiregistrationV1().APIServices().Get(ctx, apiServiceName, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("wait for metrics API: %w", err)
		}
		for _, c := range found.Status.Conditions {
			if c.Type != apiregistrationv1.Available {
				continue
			}
			if c.Status == apiregistrationv1.ConditionTrue {
				return nil
			}
			last = c.Message
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for metrics API: %w (the aggregator says: %s)", context.Cause(ctx), last)
		}
	}
}

// Done reports once why the server stopped by itself.
func (s *Server) Done() <-chan error { return s.done }

// Stop ends the server.
func (s *Server) Stop() error {
	if err := s.http.Close(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("stop metrics API: %w", err)
	}
	return nil
}
