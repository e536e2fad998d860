// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// Kind is what a repository speaks.
type Kind string

// The kinds of Argo CD's repository Secrets.
const (
	Git  Kind = "git"
	Helm Kind = "helm"
	OCI  Kind = "oci"
)

// Repository is where content comes from, and what is known about reading it.
type Repository struct {
	// URL is the address that Applications name and that errors show.
	URL string
	// FetchURL is where it is really fetched from: a mirror, or the server that
	// `wavetrain up` puts in its place. Empty means URL.
	FetchURL string
	// Kind of the repository; empty is guessed from URL and target.
	Kind Kind
	// Scope keeps copies apart that were fetched with credentials which not
	// everybody may use: the project that they belong to. Empty for all.
	Scope string
	// Known tells that somebody has configured the repository; errors speak of it.
	Known       bool
	Credentials Credentials
	// LFS has files that Git LFS keeps elsewhere fetched.
	LFS bool
	// PlainHTTP speaks to an OCI registry without TLS.
	PlainHTTP bool
	// Related finds a repository that this one refers to, a submodule or the
	// dependency of a chart, with what the same project may use. May be nil.
	Related func(ctx context.Context, url string) (Repository, error)
	// Named finds a chart repository by the name that somebody has given it; ok is false
	// if nobody has. May be nil.
	Named func(ctx context.Context, name string) (repo Repository, ok bool, err error)
}

func (r Repository) fetchURL() string {
	if r.FetchURL != "" {
		return r.FetchURL
	}
	return r.URL
}

func (r Repository) related(ctx context.Context, url string) (Repository, error) {
	if r.Related == nil {
		return Repository{URL: url}, nil
	}
	return r.Related(ctx, url)
}

// Display is the URL as errors show it.
func (r Repository) Display() string { return withoutCredentials(r.URL) }

// key identifies the copy of the repository on disk.
func (r Repository) key() string {
	sum := sha256.Sum256([]byte(withoutCredentials(r.fetchURL()) + "\x00" + r.Scope))
	return hex.EncodeToString(sum[:8])
}

// Credentials are what a repository asks of those who read it.
type Credentials struct {
	Username, Password string
	BearerToken        string
	// ClientCertificate and ClientKey are PEM, for servers that ask for one.
	ClientCertificate, ClientKey string
	// Authorities are PEM certificates to trust instead of the system's.
	Authorities string
	// Insecure skips the verification of the server's certificate or host key.
	Insecure bool
	// SSHKey is a private key without a passphrase.
	SSHKey string
	// KnownHosts are lines in the form of ssh's known_hosts. A server that is not
	// among them is refused. Nil leaves the matter to ssh's own files.
	KnownHosts *string
	// Proxy to reach the server through; NoProxy lists hosts that are reached
	// without.
	Proxy, NoProxy string
	GitHubApp      *GitHubApp
	// GoogleKey is the key of a service account of Google Cloud, in its JSON.
	GoogleKey string
	Azure     *AzureIdentity
}

// digest tells whether credentials have changed.
func (c Credentials) digest() (string, error) {
	data, err := json.Marshal(c) //nolint:gosec // only the digest leaves this function
	if err != nil {
		return "", fmt.Errorf("encode credentials: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// withLogin takes user and password out of a URL. Those of c win.
func (c Credentials) withLogin(raw string) (Credentials, string) {
	u, err := url.Parse(raw)
	if err != nil || u.User == nil || !isHTTP(raw) {
		return c, raw
	}
	if c.Username == "" && c.Password == "" && c.BearerToken == "" && c.GitHubApp == nil && c.GoogleKey == "" && c.Azure == nil {
		c.Username = u.User.Username()
		c.Password, _ = u.User.Password()
	}
	u.User = nil
	return c, u.String()
}

// secrets are the values that must not be shown.
func (c Credentials) secrets() []string {
	var list []string
	for _, s := range []string{c.Password, c.BearerToken} {
		if s != "" {
			list = append(list, s, url.QueryEscape(s), url.PathEscape(s))
		}
	}
	if u, err := url.Parse(c.Proxy); err == nil && u.User != nil {
		if password, ok := u.User.Password(); ok && password != "" {
			list = append(list, password)
		}
	}
	return list
}

func isHTTP(raw string) bool {
	return strings.HasPrefix(raw, "https://") || strings.HasPrefix(raw, "http://")
}

// isSSH tells whether git would reach the URL by ssh: ssh://… or user@host:path.
func isSSH(raw string) bool {
	if strings.HasPrefix(raw, "ssh://") || strings.HasPrefix(raw, "git+ssh://") {
		return true
	}
	host, _, ok := strings.Cut(raw, ":")
	return ok && !strings.Contains(raw, "://") && !strings.Contains(host, "/")
}

// Host is the host of a repository's URL, with the port if it has one.
func Host(raw string) string {
	if isSSH(raw) && !strings.Contains(raw, "://") {
		host, _, _ := strings.Cut(raw, ":")
		if _, after, ok := strings.Cut(host, "@"); ok {
			return after
		}
		return host
	}
	if !strings.Contains(raw, "://") {
		host, _, _ := strings.Cut(raw, "/")
		return host
	}
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

// SameRepository tells whether two URLs are spellings of one: with or without a
// trailing slash or the suffix ".git", a user, capital letters in the host.
func SameRepository(a, b string) bool { return NormaliseURL(a) == NormaliseURL(b) }

// NormaliseURL is the spelling by which URLs of repositories are compared.
func NormaliseURL(raw string) string {
	raw = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(raw), "/"), ".git")
	if !strings.Contains(raw, "://") {
		if !isSSH(raw) {
			return raw
		}
		host, path, _ := strings.Cut(raw, ":")
		raw = "ssh://" + host + "/" + strings.TrimPrefix(path, "/")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	u.Host = strings.ToLower(u.Host)
	if u.Scheme != "ssh" {
		u.User = nil
	}
	return u.String()
}

func withoutCredentials(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.User == nil {
		return raw
	}
	if _, hasPassword := u.User.Password(); !hasPassword && u.Scheme == "ssh" {
		return raw // git@ is no secret, and no server answers without it
	}
	u.User = nil
	return u.String()
}
