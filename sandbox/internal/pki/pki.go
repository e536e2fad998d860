// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// Pair names the files of a certificate and its private key.
type Pair struct {
	Cert, Key string
}

// PKI names the files of one control plane's keys and certificates.
type PKI struct {
	// CA signs the API server's certificate and the client certificates.
	CA Pair
	// Serving is the API server's certificate.
	Serving Pair
	// FrontProxyCA signs FrontProxy, with which the aggregator identifies itself to the API servers behind it.
	FrontProxyCA Pair
	FrontProxy   Pair
	// Metrics is the certificate of the metrics API.
	Metrics Pair
	// ServiceAccountKey signs service account tokens.
	ServiceAccountKey string
	// Admin, Controllers and Simulator are client certificates, all of the group system:masters. They differ in the
	// user name, so that an audit log tells a person from the machinery.
	Admin, Controllers, Simulator Pair
}

// FrontProxyName is the common name of the aggregator's client certificate.
const FrontProxyName = "wavetrain-sandbox-front-proxy"

// MetricsName is the name the metrics API's certificate is valid for: the aggregator expects that of a Service.
const MetricsName = "metrics-server.kube-system.svc"

// Ensure returns the PKI of a directory and creates what is missing. serviceIP is the cluster address of the Service
// "kubernetes", for which the API server's certificate is valid besides localhost.
func Ensure(dir string, serviceIP net.IP) (*PKI, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create directory for certificates: %w", err)
	}
	pair := func(name string) Pair {
		return Pair{Cert: filepath.Join(dir, name+".crt"), Key: filepath.Join(dir, name+".key")}
	}
	p := &PKI{
		CA:                pair("ca"),
		Serving:           pair("apiserver"),
		FrontProxyCA:      pair("front-proxy-ca"),
		FrontProxy:        pair("front-proxy"),
		Metrics:           pair("metrics"),
		ServiceAccountKey: filepath.Join(dir, "service-account.key"),
		Admin:             pair("admin"),
		Controllers:       pair("controllers"),
		Simulator:         pair("simulator"),
	}

	ca, err := ensureAuthority(p.CA, "wavetrain-sandbox-ca")
	if err != nil {
		return nil, err
	}
	proxyCA, err := ensureAuthority(p.FrontProxyCA, "wavetrain-sandbox-front-proxy-ca")
	if err != nil {
		return nil, err
	}
	if err := ensureKey(p.ServiceAccountKey); err != nil {
		return nil, err
	}
	for _, leaf := range []struct {
		pair Pair
		by   *authority
		cert x509.Certificate
	}{
		{p.Serving, ca, server("kube-apiserver", append(clusterNames(), "localhost"), serviceIP, net.IPv4(127, 0, 0, 1), net.IPv6loopback)},
		{p.Metrics, ca, server("wavetrain-sandbox-metrics", []string{MetricsName})},
		{p.FrontProxy, proxyCA, client(FrontProxyName)},
		{p.Admin, ca, client("sandbox-admin", "system:masters")},
		{p.Controllers, ca, client("system:kube-controller-manager", "system:masters")},
		{p.Simulator, ca, client("system:sandbox-simulator", "system:masters")},
	} {
		if err := leaf.by.ensure(leaf.pair, leaf.cert); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// clusterNames are the names under which Pods of a cluster address the API server.
func clusterNames() []string {
	return []string{
		"kubernetes",
		"kubernetes.default",
		"kubernetes.default.svc",
		"kubernetes.default.svc.cluster.local",
	}
}

func server(name string, dns []string, ips ...net.IP) x509.Certificate {
	return x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		DNSNames:    dns,
		IPAddresses: ips,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

func client(user string, groups ...string) x509.Certificate {
	return x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}
