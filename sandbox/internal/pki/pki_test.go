// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/wavetrain/wavetrain/sandbox/internal/pki"
)

var serviceIP = net.IPv4(10, 96, 0, 1)

func ensure(t *testing.T, dir string) *pki.PKI {
	t.Helper()
	keys, err := pki.Ensure(dir, serviceIP)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// content returns the files of a directory by name.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(data)
	}
	return files
}

func TestEnsureKeepsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	ensure(t, dir)
	before := content(t, dir)
	ensure(t, dir)
	if diff := cmp.Diff(before, content(t, dir)); diff != "" {
		t.Error("a second call changed files")
	}
}

func TestEnsureReplacesHalfOfAPair(t *testing.T) {
	dir := t.TempDir()
	keys := ensure(t, dir)
	if err := os.Remove(keys.Admin.Cert); err != nil {
		t.Fatal(err)
	}
	ensure(t, dir)
	if _, err := tls.LoadX509KeyPair(keys.Admin.Cert, keys.Admin.Key); err != nil {
		t.Errorf("the certificate does not fit the key: %v", err)
	}
}

func TestKeysAreSecret(t *testing.T) {
	dir := t.TempDir()
	ensure(t, dir)
	names, err := filepath.Glob(filepath.Join(dir, "*.key"))
	if err != nil || len(names) == 0 {
		t.Fatalf("keys: %v, %v", names, err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s has mode %s, others must not read it", filepath.Base(name), mode)
		}
	}
}

func TestCertificates(t *testing.T) {
	keys := ensure(t, t.TempDir())
	cases := map[string]struct {
		reason string
		pair   pki.Pair
		ca     pki.Pair
		usage  x509.ExtKeyUsage
		name   string
		user   string
		groups []string
	}{
		"ServingAddress": {
			reason: "Clients on this machine use the address.",
			pair:   keys.Serving, ca: keys.CA, usage: x509.ExtKeyUsageServerAuth, name: "127.0.0.1", user: "kube-apiserver",
		},
		"ServingName": {
			reason: "Clients inside a cluster use the name of the Service.",
			pair:   keys.Serving, ca: keys.CA, usage: x509.ExtKeyUsageServerAuth, name: "kubernetes.default.svc", user: "kube-apiserver",
		},
		"Metrics": {
			reason: "The aggregator expects the name of the Service, whatever its type.",
			pair:   keys.Metrics, ca: keys.CA, usage: x509.ExtKeyUsageServerAuth, name: pki.MetricsName, user: "wavetrain-sandbox-metrics",
		},
		"Admin": {
			reason: "The administrator may do everything.",
			pair:   keys.Admin, ca: keys.CA, usage: x509.ExtKeyUsageClientAuth, user: "sandbox-admin", groups: []string{"system:masters"},
		},
		"FrontProxy": {
			reason: "The aggregator's identity comes from an authority of its own and is in no group.",
			pair:   keys.FrontProxy, ca: keys.FrontProxyCA, usage: x509.ExtKeyUsageClientAuth, user: pki.FrontProxyName,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pair, err := tls.LoadX509KeyPair(tc.pair.Cert, tc.pair.Key)
			if err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			ca, err := os.ReadFile(tc.ca.Cert)
			if err != nil {
				t.Fatal(err)
			}
			roots.AppendCertsFromPEM(ca)
			_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: tc.name, KeyUsages: []x509.ExtKeyUsage{tc.usage}})
			if err != nil {
				t.Errorf("%s: %v", tc.reason, err)
			}
			subject := pair.Leaf.Subject
			if diff := cmp.Diff(tc.user, subject.CommonName); diff != "" {
				t.Errorf("%s: user (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.groups, subject.Organization); diff != "" {
				t.Errorf("%s: groups (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWriteKubeconfig(t *testing.T) {
	dir := t.TempDir()
	keys := ensure(t, filepath.Join(dir, "pki"))
	file := filepath.Join(dir, "elsewhere", "kubeconfig")
	if err := keys.WriteKubeconfig(file, "https://127.0.0.1:6443", keys.Admin); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("mode %s, want only the owner to read it", mode)
	}
	// It must stay usable when it is copied to a place from which the certificates cannot be read.
	if err := os.RemoveAll(filepath.Join(dir, "pki")); err != nil {
		t.Fatal(err)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Host != "https://127.0.0.1:6443" || len(cfg.CAData) == 0 || len(cfg.CertData) == 0 || len(cfg.KeyData) == 0 {
		t.Errorf("the kubeconfig does not contain all that a client needs (server %q)", cfg.Host)
	}
}
