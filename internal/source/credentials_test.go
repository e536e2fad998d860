// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/source"
)

const password = "s3cr3t&more" // what is looked for in errors

// readsX reads file x of the head of main and fails the test unless that works.
func readsX(t *testing.T, store *source.Store, repo source.Repository, want string) {
	t.Helper()
	got, err := tryX(t, store, repo)
	if err != nil || got != want {
		t.Errorf("x = %q, %v; want %q", got, err, want)
	}
}

func tryX(t *testing.T, store *source.Store, repo source.Repository) (string, error) {
	t.Helper()
	commit, err := store.Resolve(t.Context(), repo, "main")
	if err != nil {
		return "", err
	}
	snap, err := store.Snapshot(t.Context(), repo, commit)
	if err != nil {
		return "", err
	}
	data, err := fs.ReadFile(snap, "x")
	return string(data), errors.Join(err, snap.Close())
}

// refused says that reading fails for a reason, in words that name the repository
// and never a secret.
func refused(t *testing.T, store *source.Store, repo source.Repository, reason source.Reason, words ...string) {
	t.Helper()
	_, err := tryX(t, store, repo)
	var failed *source.Error
	if !errors.As(err, &failed) || failed.Reason != reason {
		t.Fatalf("got error %v; want one with reason %s", err, reason)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
	if strings.Contains(err.Error(), password) {
		t.Errorf("error %q shows the password", err)
	}
}

// leavesNoCredentials looks for files that access to a repository needed.
func leavesNoCredentials(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, "access-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("credentials are left in %v, %v", left, err)
	}
}

// guarded serves the repository to requests with the header.
func guarded(repo *gittest.Repository, header string) http.Handler {
	next := repo.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != header {
			w.Header().Set("WWW-Authenticate", "Basic realm=git")
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL + "/repo.git"
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func TestHTTPLogins(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	for name, c := range map[string]struct {
		reason, header string
		good, bad      source.Credentials
	}{
		"basic":  {"user and password", basic("me", password), source.Credentials{Username: "me", Password: password}, source.Credentials{Username: "me", Password: password + "!"}},
		"token":  {"a password without a user, as some servers have tokens", basic("", password), source.Credentials{Password: password}, source.Credentials{Username: "x", Password: password}},
		"bearer": {"a bearer token", "Bearer " + password, source.Credentials{BearerToken: password}, source.Credentials{BearerToken: password + "!"}},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, guarded(repo, c.header))
			store := newStore(t, source.Options{})
			refused(t, store, source.Repository{URL: url}, source.Unauthenticated, url, "401", "wavetrain repo add")
			refused(t, store, source.Repository{URL: url, Known: true, Credentials: c.bad}, source.Unauthenticated, url, "401", "correct the credentials")
			readsX(t, store, source.Repository{URL: url, Known: true, Credentials: c.good}, "1")
		})
	}
	t.Run("in the url", func(t *testing.T) {
		url := serve(t, guarded(repo, basic("me", "pw")))
		store := newStore(t, source.Options{})
		readsX(t, store, source.Repository{URL: strings.Replace(url, "http://", "http://me:pw@", 1)}, "1")
	})
}

func TestPasswordsAreNotArguments(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	// A git in front of the real one writes its arguments down.
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script := "#!/bin/sh\necho \"$@\" >>" + log + "\nPATH=" + os.Getenv("PATH") + " exec git \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	url := serve(t, guarded(repo, basic("me", password)))
	store := newStore(t, source.Options{})
	readsX(t, store, source.Repository{URL: strings.Replace(url, "http://", "http://me:"+"s3cr3t&more"+"@", 1)}, "1")
	said, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(said), "ls-remote") {
		t.Fatalf("the arguments were not recorded: %s, %v", said, err)
	}
	for _, secret := range []string{password, base64.StdEncoding.EncodeToString([]byte("me:" + password))} {
		if strings.Contains(string(said), secret) {
			t.Errorf("git was called with the password:\n%s", said)
		}
	}
}

// authority is a certificate authority of a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert: cert, key: key, pem: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

func (a authority) issue(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "reader"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &private.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}

func TestCertificates(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	clients := newAuthority(t)
	server := httptest.NewUnstartedServer(repo.Handler())
	pool := x509.NewCertPool()
	pool.AddCert(clients.cert)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	url := server.URL + "/repo.git"
	authorities := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	cert, key := clients.issue(t)

	dir := t.TempDir()
	store, err := source.NewStore(source.Options{Dir: dir, Env: gittest.Env(), RefsTTL: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	repository := func(c source.Credentials) source.Repository {
		return source.Repository{URL: url, Known: true, Credentials: c}
	}
	refused(t, store, repository(source.Credentials{ClientCertificate: cert, ClientKey: key}), source.Untrusted, url, "argocd-tls-certs-cm under the key 127.0.0.1")
	// In which words the server's refusal arrives is a matter of luck.
	if _, err := tryX(t, store, repository(source.Credentials{Authorities: authorities})); err == nil || !strings.Contains(err.Error(), url) {
		t.Errorf("without a client certificate: %v", err)
	}
	readsX(t, store, repository(source.Credentials{Authorities: authorities, ClientCertificate: cert, ClientKey: key}), "1")
	readsX(t, store, repository(source.Credentials{Insecure: true, ClientCertificate: cert, ClientKey: key}), "1")
	leavesNoCredentials(t, dir)
}

func TestProxy(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	var through atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through.Add(1)
		// The host does not exist: only who is asked to forward can know.
		r.URL.Host = strings.TrimSuffix(strings.TrimPrefix(repo.URL, "http://"), "/repo.git")
		(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.Out.Host = r.URL.Host }}).ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	store := newStore(t, source.Options{})
	readsX(t, store, source.Repository{URL: "http://git.invalid/repo.git", Credentials: source.Credentials{Proxy: proxy.URL}}, "1")
	if through.Load() == 0 {
		t.Error("the proxy was not used")
	}
	before := through.Load()
	readsX(t, store, source.Repository{URL: repo.URL, Credentials: source.Credentials{Proxy: proxy.URL, NoProxy: "127.0.0.1"}}, "1")
	if through.Load() != before {
		t.Error("the proxy was used for a host that noProxy lists")
	}
}

func TestSSH(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	ours, other := gittest.NewSSHKey(t), gittest.NewSSHKey(t)
	url, known := repo.ServeSSH(ours)
	host, _, _ := strings.Cut(known, " ")
	wrong := host + " " + gittest.NewSSHKey(t).Public
	none := ""
	dir := t.TempDir()
	store, err := source.NewStore(source.Options{Dir: dir, Env: gittest.Env(), RefsTTL: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	repository := func(c source.Credentials) source.Repository {
		return source.Repository{URL: url, Known: true, Credentials: c}
	}
	readsX(t, store, repository(source.Credentials{SSHKey: ours.Private, KnownHosts: &known}), "1")
	readsX(t, store, repository(source.Credentials{SSHKey: strings.TrimSpace(ours.Private), KnownHosts: &known}), "1")
	refused(t, store, repository(source.Credentials{SSHKey: other.Private, KnownHosts: &known}), source.Unauthenticated, url, "SSH key")
	refused(t, store, repository(source.Credentials{SSHKey: ours.Private, KnownHosts: &none}), source.Untrusted, url, "argocd-ssh-known-hosts-cm")
	refused(t, store, repository(source.Credentials{SSHKey: ours.Private, KnownHosts: &wrong}), source.Untrusted, "not the known one")
	refused(t, store, repository(source.Credentials{SSHKey: "no key", KnownHosts: &known}), source.Unauthenticated, "SSH")
	readsX(t, store, repository(source.Credentials{SSHKey: ours.Private, Insecure: true}), "1")
	leavesNoCredentials(t, dir)
}

func TestGitHubApp(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	private := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	clock := clocktesting.NewFakePassiveClock(time.Now())
	var issued atomic.Int64
	var token atomic.Value
	// The two requests of GitHub's protocol: the app proves who it is and gets a
	// token, the token reads.
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		var claims jwt.RegisteredClaims
		_, err := jwt.ParseWithClaims(raw, &claims, func(*jwt.Token) (any, error) { return &key.PublicKey, nil }, jwt.WithTimeFunc(clock.Now))
		if err != nil || claims.Issuer != "7" || r.Method != http.MethodPost || r.URL.Path != "/api/v3/app/installations/42/access_tokens" {
			http.Error(w, fmt.Sprint(err, r.URL.Path), http.StatusUnauthorized)
			return
		}
		token.Store(fmt.Sprintf("ghs_%d", issued.Add(1)))
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"token": token.Load(), "expires_at": clock.Now().Add(time.Hour)})
	}))
	t.Cleanup(api.Close)
	repo := gittest.New(t, map[string]string{"x": "1"})
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		guarded(repo, basic("x-access-token", fmt.Sprint(token.Load()))).ServeHTTP(w, r)
	}))
	store := newStore(t, source.Options{Clock: clock})
	app := source.GitHubApp{ID: "7", InstallationID: "42", PrivateKey: private, BaseURL: api.URL + "/api/v3"}
	repository := func(app source.GitHubApp) source.Repository {
		return source.Repository{URL: url, Known: true, Credentials: source.Credentials{GitHubApp: &app}}
	}
	readsX(t, store, repository(app), "1")
	clock.SetTime(clock.Now().Add(10 * time.Minute))
	readsX(t, store, repository(app), "1")
	if issued.Load() != 1 {
		t.Errorf("%d tokens were issued where one is valid", issued.Load())
	}
	clock.SetTime(clock.Now().Add(time.Hour))
	readsX(t, store, repository(app), "1")
	if issued.Load() != 2 {
		t.Errorf("%d tokens were issued; an expired one must be replaced", issued.Load())
	}
	wrong := app
	wrong.ID = "8"
	refused(t, store, repository(wrong), source.Unauthenticated, url, "GitHub App 8", "githubAppID")
	wrong = app
	wrong.PrivateKey = "nothing"
	refused(t, store, repository(wrong), source.Unauthenticated, "githubAppPrivateKey")
}

func TestCopiesOfProjectsAreApart(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	url := serve(t, guarded(repo, basic("me", password)))
	store := newStore(t, source.Options{})
	ours := source.Repository{URL: url, Scope: "ours", Credentials: source.Credentials{Username: "me", Password: password}}
	readsX(t, store, ours, "1")
	// A commit id needs no look-up, so only the copy could betray it.
	_, err := store.Snapshot(t.Context(), source.Repository{URL: url}, repo.Git("rev-parse", "HEAD"))
	var failed *source.Error
	if !errors.As(err, &failed) || failed.Reason != source.Unauthenticated {
		t.Errorf("a project without credentials reads what another has fetched: %v", err)
	}
}
