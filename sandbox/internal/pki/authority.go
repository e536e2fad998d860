// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"time"
)

const (
	// validity is long because nothing renews these certificates; a control plane is thrown away sooner.
	validity = 10 * 365 * 24 * time.Hour
	// skew lets a client whose clock is behind accept a certificate that was made just now.
	skew = time.Hour
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// ensureAuthority loads a certificate authority, or makes it.
func ensureAuthority(files Pair, name string) (*authority, error) {
	if !exists(files.Key) || !exists(files.Cert) {
		tmpl := x509.Certificate{
			Subject:               pkix.Name{CommonName: name},
			KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
			IsCA:                  true,
			BasicConstraintsValid: true,
		}
		if err := (&authority{}).issue(files, tmpl); err != nil {
			return nil, err
		}
	}
	loaded, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		return nil, fmt.Errorf("load certificate authority %s: %w", files.Cert, err)
	}
	key, ok := loaded.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("load certificate authority %s: its key cannot sign", files.Cert)
	}
	return &authority{cert: loaded.Leaf, key: key}, nil
}

// ensure issues a certificate unless both of its files are there.
func (a *authority) ensure(files Pair, tmpl x509.Certificate) error {
	if exists(files.Cert) && exists(files.Key) {
		return nil
	}
	return a.issue(files, tmpl)
}

// issue writes a new key and a certificate for it, signed by the authority; an empty authority signs with that very
// key. The certificate is written last: what is found complete after a crash is a pair.
func (a *authority) issue(files Pair, tmpl x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generate key %s: %w", files.Key, err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return fmt.Errorf("choose serial number for %s: %w", files.Cert, err)
	}
	now := time.Now()
	tmpl.SerialNumber = serial
	tmpl.NotBefore = now.Add(-skew)
	tmpl.NotAfter = now.Add(validity)

	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = &tmpl, key
	}
	der, err := x509.CreateCertificate(rand.Reader, &tmpl, parent, key.Public(), signer)
	if err != nil {
		return fmt.Errorf("sign certificate %s: %w", files.Cert, err)
	}
	if err := os.Remove(files.Cert); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace certificate: %w", err)
	}
	if err := writeKey(files.Key, key); err != nil {
		return err
	}
	return writePEM(files.Cert, "CERTIFICATE", der, 0o644)
}

// ensureKey makes a private key unless it is there.
func ensureKey(file string) error {
	if exists(file) {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generate key %s: %w", file, err)
	}
	return writeKey(file, key)
}

func writeKey(file string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode key %s: %w", file, err)
	}
	return writePEM(file, "EC PRIVATE KEY", der, 0o600)
}

func writePEM(file, kind string, der []byte, mode fs.FileMode) error {
	return replaceFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode)
}

// replaceFile writes a file in one step, so that a crash never leaves half of it.
func replaceFile(file string, content []byte, mode fs.FileMode) error {
	partial := file + ".partial"
	if err := os.WriteFile(partial, content, mode); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.Rename(partial, file); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
