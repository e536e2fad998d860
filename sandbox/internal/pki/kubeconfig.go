// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// RESTConfig returns a client configuration for one of the client certificates, without client-side rate limit.
func (p *PKI) RESTConfig(server string, client Pair) *rest.Config {
	return &rest.Config{
		Host:      server,
		UserAgent: "wavetrain-sandbox",
		QPS:       -1,
		Burst:     -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAFile:   p.CA.Cert,
			CertFile: client.Cert,
			KeyFile:  client.Key,
		},
	}
}

// WriteKubeconfig writes a kubeconfig for one of the client certificates. It contains what it needs (no paths), so it
// can be copied; the file is replaced in one step and readable by its owner only.
func (p *PKI) WriteKubeconfig(file, server string, client Pair) error {
	ca, err := os.ReadFile(p.CA.Cert)
	if err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", file, err)
	}
	cert, err := os.ReadFile(client.Cert)
	if err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", file, err)
	}
	key, err := os.ReadFile(client.Key)
	if err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", file, err)
	}

	const name = "wavetrain-sandbox"
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	cfg.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	cfg.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	cfg.CurrentContext = name
	content, err := clientcmd.Write(*cfg)
	if err != nil {
		return fmt.Errorf("encode kubeconfig %s: %w", file, err)
	}

	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", file, err)
	}
	return replaceFile(file, content, 0o600)
}
